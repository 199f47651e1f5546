"""The options of format `avro`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import Format, Layout, Option, OptionKind

FORMAT: Final = Format(
    "avro",
    "Avro object container files",
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
            "the codec of files that are written; reading needs no option",
            ("deflate", "snappy", "zstd", "none"),
            default="deflate",
            elsewhere=("avro.codec",),
        ),
    ),
    suffixes=(".avro",),
    ascii_names=True,
    text_keys=True,
    notes="""\
Each file that is read is a split, whose blocks are read one after the other.  The schema in a file is that of
a record.  Columns are found by name; other fields are ignored.  Their types are checked before the first row
is read: `int` is read as INT, BIGINT, DOUBLE and DECIMAL, `long` as BIGINT, INTERVAL and DECIMAL; `int` also
as smaller and unsigned integers, `long` as UINT and UBIGINT, a `decimal` without a fraction as UBIGINT, where
a number that does not fit makes a malformed row; `float` as FLOAT and DOUBLE,
`string`, `enum` and `uuid` as STRING, `bytes` and `fixed` as BYTES, `decimal` as a DECIMAL with at least its
digits, `date` as DATE and TIMESTAMP, `time-millis` and `time-micros` as TIME, `timestamp-*` and
`local-timestamp-*` as TIMESTAMP and TIMESTAMP_LTZ (nanoseconds are cut off), an array as ARRAY, a map as MAP,
a record as ROW.  A union of `null` and one type is that type.  Other unions are not read; neither are schemas
that contain themselves, and lists of items without bytes, such as `null`.  A time that is not of the years 1
to 9999, text that is not UTF-8, a duplicate key of a map, and NULL in a NOT NULL column make a malformed row.
A file that is damaged stops the job; the message has the block and its byte.  The codecs are `null`,
`deflate`, `snappy`, `zstandard`, `bzip2` and `xz`.  A block has at most 64 MiB, also when it is decompressed,
the header at most 4 MiB.

A field that no query of the script uses is skipped, so malformed values in it are not found.  It has to
exist, with a suitable type.

A table that is written is a directory of files `part-00000000.avro`, `part-00000001.avro` and so on, as with
format [`parquet`](#format-parquet): a file appears when it has all its rows, and never changes.  Rows are
delivered exactly once, in files with the same bytes after any failure and with any number of workers.  The
schema is that of the columns: every field is a union of `null` and its type, a TIMESTAMP is
`timestamp-micros`, a TIME `time-micros`, a DECIMAL `bytes` with `decimal`, an INTERVAL a `long` of
microseconds.  The kind of a change is written to a first field, named by `op_column`.  Names of columns and
fields have only ASCII letters, digits and `_`, and keys of maps are STRING, as Avro requires.
""",
)
