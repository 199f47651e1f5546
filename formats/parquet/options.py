"""The options of format `parquet`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import Format, Layout, Option, OptionKind

FORMAT: Final = Format(
    "parquet",
    "Parquet files",
    Layout.FILE,
    takes_changes=True,
    options=(
        Option(
            "rows_per_file",
            OptionKind.POSITIVE,
            "how many rows a file has that is written; the last one may have fewer",
            default="131072",
            greatest=1 << 24,
        ),
        Option(
            "compression",
            OptionKind.CHOICE,
            "how files are compressed that are written; reading needs no option",
            ("zstd", "snappy", "none"),
            default="zstd",
        ),
    ),
    suffixes=(".parquet",),
    notes="""\
Each file that is read is a split, whose row groups are read one after the other.  Columns are found by name;
others are ignored.  The type of each is checked before the first row is read: an integer type accepts integer
types of which it has all values, and so does DECIMAL (UBIGINT has 20 digits); FLOAT floats of 32 bits
and integers of up to 16, DOUBLE also those of up to 32 bits, TIMESTAMP and TIMESTAMP_LTZ timestamps of any
unit (nanoseconds are cut off; without a zone it is UTC) and dates, DATE dates, TIME times, BYTES binary,
ARRAY lists.  A time that is not of the years 1 to 9999, text that is not UTF-8, and NULL in a NOT NULL column
make a malformed row.

A column that no query of the script uses is not read, so malformed values in it are not found.  It has to
exist, with a suitable type.

A table that is written is a directory of files `part-00000000.parquet`, `part-00000001.parquet` and so on. A
Parquet file cannot be appended to, so a file appears when it has all its rows, and never changes: all files
in the order of their names are the result so far, and the last rows are written at the end of the input.
Until then a job that keeps state has these rows in its state directory.  So rows are delivered exactly once,
in files with the same bytes after any failure; for rows to appear sooner, write fewer to a file.  The kind of
a change is written to a first column, named by `op_column`.  An INTERVAL is written in microseconds.
""",
)
