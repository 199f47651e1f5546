"""The rows of the code table for data, a row that fails or is malformed (E5xx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

DATA_ROWS: Final[tuple[Row, ...]] = (
    (
        "E501",
        "division by zero",
        "An integer is divided by zero, or a remainder by zero is asked for.",
        "Guard the divisor: `a / NULLIF(b, 0)`, or use DOUBLE, where the result is Infinity or NaN.",
        "SELECT 1 / a FROM t;  -- a row with a = 0",
    ),
    (
        "E502",
        "number out of range",
        "The result does not fit its type: INT has 32 bits, BIGINT and INTERVAL have 64.",
        "Cast an INT operand to BIGINT, or compute in DOUBLE (15 digits), or filter such rows before.",
        "SELECT a * a FROM t;  -- a row with a = 9223372036854775807",
    ),
    (
        "E503",
        "value cannot be cast",
        "The text does not have the form of a value of that type.",
        "Filter such rows before, or read the value with CASE: only the branch taken is evaluated.",
        "SELECT CAST(s AS BIGINT) FROM t;  -- a row with s = 'x'",
    ),
    (
        "E504",
        "timestamp out of range",
        "Timestamps are in the years 1 to 9999.",
        "Filter the rows whose time is beyond before computing with it.",
        "SELECT at + INTERVAL '3650000' DAY FROM t;",
    ),
    (
        "E505",
        "aggregate out of range",
        "The sum of a group does not fit BIGINT.",
        "Sum a DOUBLE: `SUM(CAST(a AS DOUBLE))`.",
        "SELECT SUM(a) FROM t;  -- two rows with a = 9223372036854775807",
    ),
    (
        "E511",
        "line is not JSON",
        "The record is not one JSON value: it is cut off, has more behind it, or is not JSON at all.",
        "Repair the record, or read the table with `'on_error' = 'reject'`.",
        '{"a": 1',
    ),
    (
        "E512",
        "duplicate key",
        "The same field comes twice, so it is not certain which value is meant.",
        "Have the producer write each field once.",
        '{"a": 1, "a": 2}',
    ),
    (
        "E513",
        "value of another type",
        "The field's value is not of the type that the table declares; nothing is converted silently.",
        "Declare the column with the type that the data has, and cast in the query.",
        '{"a": "1"}  -- a BIGINT',
    ),
    (
        "E514",
        "number out of range",
        "The field's number does not fit the column's type.",
        "Declare a wider type.",
        '{"a": 9223372036854775808}  -- a BIGINT',
    ),
    (
        "E515",
        "not UTF-8",
        "The record's bytes are not valid UTF-8.",
        "Convert the data to UTF-8.",
        '{"s": "\\xff"}',
    ),
    (
        "E516",
        "nested too deeply",
        "A record nests at most 64 deep.",
        "Have the producer write flatter records.",
        "[[[[…]]]]  -- 65 brackets",
    ),
    (
        "E517",
        "record too long",
        "A record has at most as many bytes as the table's option `max_record_bytes` says (1 MiB).",
        "Raise the option, or have the producer write smaller records.",
        "a line of 2 MiB",
    ),
    (
        "E519",
        "record is not an object",
        "A record must be a JSON object with the table's columns as fields.",
        "Have the producer write one object a line.",
        "[1, 2]",
    ),
    (
        "E520",
        "invalid timestamp",
        "A timestamp is `YYYY-MM-DDThh:mm:ss`, `YYYY-MM-DD`, or an integer of milliseconds since 1970.",
        "Repair the value, or declare the column as STRING and convert it in the query.",
        '{"at": "2024-02-30T00:00:00Z"}',
    ),
    (
        "E521",
        "NULL where a value is required",
        "The column is NOT NULL or the table's event time, and the record has no value for it.",
        "Have the producer write it, or reject such rows; only a column that is not event time may be NULL.",
        "{}  -- with a BIGINT NOT NULL",
    ),
    (
        "E531",
        "source cannot be opened",
        "The file or directory is not there, is empty of files, or may not be read; or it is the script's.",
        "Correct the path, which in a script is taken from the script's directory, or the permissions.",
        "SELECT a FROM t;  -- t with 'path' = 'missing.jsonl'",
    ),
    (
        "E532",
        "sink cannot be opened",
        "The directory is not there, or the file may not be written.",
        "Create the directory, or correct the path or the permissions.",
        "INSERT INTO t SELECT a FROM u;  -- t with 'path' = 'missing/t.jsonl'",
    ),
    (
        "E533",
        "path outside of the data roots",
        "Where data roots are set, tables may only name paths that lead to a place under one of them.",
        "Move the file there, or have the root added.",
        "SELECT a FROM t;  -- t with 'path' = '../../etc/passwd'",
    ),
    (
        "E534",
        "option that the connector cannot follow",
        "The option's value goes beyond what the connector can do; the message says the limit.",
        "Change the option as the message says.",
        "SELECT a FROM t;  -- t with 'max_record_bytes' = '1000000000'",
    ),
    (
        "E535",
        "reading or writing failed",
        "The operating system refused: the disk is full or failed, or the reader of a stream is gone.",
        "Remove the cause that the message names, and run again.",
        "INSERT INTO t SELECT a FROM u;  -- t on a full disk",
    ),
    (
        "E536",
        "source cannot be replayed",
        "A job that goes on after a failure reads on at a place where its source is not what it was.",
        "Bring back the source as it was, or start the job anew.",
        "SELECT a FROM t;  -- t's file was truncated while the job was down",
    ),
    (
        "E537",
        "output does not go on where the job does",
        "A job that goes on after a failure finds an output without rows that it had.",
        "Bring back the output as it was, or start the job anew.",
        "INSERT INTO t SELECT a FROM u;  -- t's file was emptied while the job was down",
    ),
    (
        "E538",
        "input has grown since its end was read",
        "The job had read the file to its end and released rows because of that: new rows have no place now.",
        "Remove what was added, or start the job anew with an empty state directory.",
        "SELECT a FROM t;  -- rows were appended to t's file, and the job was started again with its state",
    ),
    (
        "E539",
        "too many splits or rows",
        "Rows are ordered by the numbers of their split, of which a table has 65,536, and in it, up to 2^40.",
        "Join small files, or declare several tables; start a job that has read so much anew.",
        "SELECT a FROM t;  -- t is a directory of 70,000 files",
    ),
)
