"""The rows of the code table for data: a row that fails or is malformed (E5xx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

DATA_ROWS: Final[tuple[Row, ...]] = (
    (
        "E501",
        "division by zero",
        "The divisor of an integer division or of MOD is zero.",
        "Use `a / NULLIF(b, 0)`, or cast to DOUBLE, where the result is Infinity or NaN.",
        "SELECT 1 / a FROM t;  -- a row with a = 0",
    ),
    (
        "E502",
        "number out of range",
        "The result does not fit its type: INT has 32 bits, UINT no negative values, a DECIMAL its digits.",
        "Cast an INT or unsigned operand to BIGINT or DECIMAL, cast to DOUBLE, or filter out such rows.",
        "SELECT a * a FROM t;  -- a row with a = 9223372036854775807",
    ),
    (
        "E503",
        "value cannot be cast",
        (
            "The text is not a valid value of the type, a JSON function with ERROR ON EMPTY or ERROR ON ERROR"
            " has no value, or the operation of FROM_CHANGELOG is not mapped."
        ),
        (
            "Use TRY_CAST, which gives NULL, or filter out such rows; use NULL ON ERROR in a JSON function,"
            " and add an operation of FROM_CHANGELOG to its op_mapping."
        ),
        "SELECT CAST(s AS BIGINT) FROM t;  -- a row with s = 'x'",
    ),
    (
        "E504",
        "timestamp out of range",
        "Timestamps and dates range from year 1 to year 9999.",
        "Filter out rows whose time would be out of range.",
        "SELECT at + INTERVAL '3650000' DAY FROM t;",
    ),
    (
        "E505",
        "aggregate out of range",
        "The sum of a group does not fit BIGINT, or DECIMAL of 38 digits.",
        "Cast to DOUBLE: `SUM(CAST(a AS DOUBLE))`.",
        "SELECT SUM(a) FROM t;  -- two rows with a = 9223372036854775807",
    ),
    (
        "E506",
        "texts too large",
        "An expression has more than 2 GiB of text in one batch of rows.",
        "Make shorter texts, or filter long texts before it.",
        "SELECT REPLACE(s, 'a', 'a long text') FROM t;  -- gigabytes of text",
    ),
    (
        "E507",
        "windows too large",
        "The rows of windows that close together have more than 2 GiB of text or arrays in one column.",
        "Use more workers, smaller windows, or shorter texts.",
        "SELECT s, COUNT(*) FROM t GROUP BY s, TUMBLE(at, INTERVAL '1' DAY);  -- gigabytes of text",
    ),
    (
        "E508",
        "Python function raised an exception",
        "A function of CREATE FUNCTION raised an exception for the arguments of a row.",
        "Handle such arguments in the function, or filter out such rows.",
        "SELECT slug(s) FROM t;  -- a row for which slug raises ValueError",
    ),
    (
        "E509",
        "Python function returned another type",
        "The value that a function of CREATE FUNCTION returned is not of its type, or out of its range.",
        "Return a value of the declared type; None is NULL.",
        "SELECT slug(s) FROM t;  -- slug returns a number, and is declared as STRING",
    ),
    (
        "E510",
        "invalid keys or values of a map",
        "A key of a MAP is NULL, or MAP_FROM_ARRAYS has arrays of different lengths.",
        "Filter out such rows, or replace NULL: COALESCE(key, '').",
        "SELECT MAP[s, 1] FROM t;  -- a row with s = NULL",
    ),
    (
        "E511",
        "line is not JSON",
        "The record is not one JSON value: it is truncated, followed by other text, or not JSON.",
        "Correct the record, or set `'on_error' = 'reject'`.",
        '{"a": 1',
    ),
    (
        "E512",
        "duplicate key",
        "The record has the same field twice.",
        "Change the producer to write each field once.",
        '{"a": 1, "a": 2}',
    ),
    (
        "E513",
        "value has the wrong type",
        (
            "The field's value does not have the declared type. INSERT casts values, but input is not cast."
            " In JSON, a STRING also takes an object or an array, as its text, a DECIMAL a text with a"
            " number, and a TIMESTAMP milliseconds since 1970."
        ),
        "Declare the column with the type that the data has, and cast in the query.",
        '{"a": "1"}  -- a BIGINT',
    ),
    (
        "E514",
        "number out of range",
        "The number does not fit the column's type.",
        "Declare the column with a wider type.",
        '{"a": 9223372036854775808}  -- a BIGINT',
    ),
    (
        "E515",
        "not UTF-8",
        "The record is not valid UTF-8.",
        "Name the encoding of a file, as in `'encoding' = 'cp1252'`, or convert the data to UTF-8.",
        '{"s": "\\xff"}',
    ),
    (
        "E516",
        "nested too deeply",
        "A record can be nested at most 64 levels deep.",
        "Change the producer to write less deeply nested records.",
        "[[[[…]]]]  -- 65 brackets",
    ),
    (
        "E517",
        "record too long",
        "The record is longer than the table's option `max_record_bytes` (1 MiB by default).",
        "Increase `max_record_bytes` (at most 16 MiB), or change the producer to write smaller records.",
        "a line of 2 MiB",
    ),
    (
        "E519",
        "record is not an object",
        "A record must be a JSON object with the table's columns as fields.",
        "Change the producer to write objects; name the array with the rows by `'json.records'`.",
        "[1, 2]",
    ),
    (
        "E520",
        "invalid timestamp or date",
        (
            "A timestamp is `YYYY-MM-DDThh:mm:ss`, a day, or a number; a date is a day, a time `hh:mm:ss`, or"
            " a number."
        ),
        (
            "Write days as `YYYY-MM-DD`. Numbers of JSON have the units of the options `timestamp_unit`"
            " (milliseconds) and `time_unit` (microseconds). Declare other texts as STRING."
        ),
        '{"at": "2024-02-30T00:00:00Z"}',
    ),
    (
        "E521",
        "NULL where a value is required",
        "The column is NOT NULL or the table's event time, and the record has no value for it.",
        "Change the producer to write the value, or reject such rows; event time cannot be NULL.",
        "{}  -- with a BIGINT NOT NULL",
    ),
    (
        "E522",
        "event time far ahead",
        "The event time is ahead of the clock, or of other rows of a file, by more than `max_ahead` allows.",
        "Correct the producer's clock, reject such rows, or raise the option `max_ahead`.",
        '{"at": "2099-01-01T00:00:00Z"}  -- from a socket, in 2026',
    ),
    (
        "E523",
        "not a CSV record",
        "A record needs a field for each column; a closing quote is followed by a delimiter or the end.",
        "Correct the record, or give the table the options `delimiter`, `quote` and `escape` of the file.",
        'a,"b  -- of two columns',
    ),
    (
        "E524",
        "unknown kind of change",
        "The kind of a change, in the field that 'op_column' names, is +I, -U, +U or -D; NULL is +U.",
        "Correct the row, or reject it: 'on_error' = 'reject'.",
        '{"op": "delete", "k": 1}',
    ),
    (
        "E525",
        "row too late for its window",
        'An inserted row came too late for a window or a join, and the query was opened with `late="raise"`.',
        "Declare the table with a greater `delay`, or open the query without that option.",
        "session.insert('t', rows)  -- a row of an hour whose window has closed",
    ),
    (
        "E526",
        "removed row does not exist",
        (
            "A table of changes without a key has no row that equals the removed one: it was never added, is"
            " added later in the total order, or was removed before."
        ),
        (
            "Read all changes, in their order. If they begin in the middle, declare the PRIMARY KEY, or write"
            " PARTITION BY: by its key a row is removed only if there is one."
        ),
        '{"op": "-D", "k": 1}  -- the first row of a table with \'changes\' = \'retract\'',
    ),
    (
        "E527",
        "value is not available",
        (
            "An event of Debezium leaves out a value, as for an unchanged TOAST column of PostgreSQL, and"
            " there is no earlier row of its key that has it."
        ),
        (
            "Read the events from the snapshot of the table on, or set `REPLICA IDENTITY FULL` in PostgreSQL;"
            " or reject such rows: `'on_error' = 'reject'`."
        ),
        '{"after": {"k": 1, "v": "__debezium_unavailable_value"}, "op": "u"}  -- the first event of the key',
    ),
    (
        "E528",
        "table was truncated",
        (
            "An event of Debezium says that the table was truncated. It names no key, but the rows of the"
            " table are kept by key, each by the worker that owns its key: an event without a key reaches"
            " none of them. Nor is it passed over, because the result would keep rows that are gone."
        ),
        (
            "Begin a new job with the events after this one: the table is empty there. In the database,"
            " DELETE writes an event for each row, and TRUNCATE does not. `'on_error' = 'reject'` goes on,"
            " and keeps the rows."
        ),
        '{"before": null, "after": null, "op": "t"}  -- of a table with \'format\' = \'debezium-json\'',
    ),
    (
        "E531",
        "source cannot be opened",
        "The file or directory does not exist, has no files, or is not readable; or it is the script itself.",
        "Correct the path, which is relative to the directory of the script, or the permissions.",
        "SELECT a FROM t;  -- t with 'path' = 'missing.jsonl'",
    ),
    (
        "E532",
        "sink cannot be opened",
        "The directory does not exist, the file is not writable, or two tables write standard output.",
        "Create the directory, or correct the path, the permissions or the table.",
        "INSERT INTO t SELECT a FROM u;  -- t with 'path' = 'missing/t.jsonl'",
    ),
    (
        "E533",
        "path is outside of the data roots",
        "If data roots are set, tables can only use paths within one of them.",
        "Move the file into a data root, or add a data root.",
        "SELECT a FROM t;  -- t with 'path' = '../../etc/passwd'",
    ),
    (
        "E534",
        "option value is not supported by the connector",
        "The option's value exceeds a limit of the connector; the message names the limit.",
        "Change the option as described in the message.",
        "SELECT a FROM t;  -- t with 'max_record_bytes' = '1000000000'",
    ),
    (
        "E535",
        "I/O error",
        "The operating system reported an error, such as a full disk or a closed pipe.",
        "Remove the cause named in the message, and run the job again.",
        "INSERT INTO t SELECT a FROM u;  -- t on a full disk",
    ),
    (
        "E536",
        "source cannot be replayed",
        "A job resumed from its state, and the source differs from what the job had read.",
        "Restore the source, or start the job again with an empty state directory.",
        "SELECT a FROM t;  -- t's file was truncated while the job was down",
    ),
    (
        "E537",
        "output does not match the state of the job",
        "A job resumed from its state, and the output lacks rows that the job had written.",
        "Restore the output, or start the job again with an empty state directory.",
        "INSERT INTO t SELECT a FROM u;  -- t's file was emptied while the job was down",
    ),
    (
        "E538",
        "input has grown since its end was read",
        "The job had read the file to its end and released results that depend on it.",
        "Remove the added rows, or start the job again with an empty state directory.",
        "SELECT a FROM t;  -- rows were appended to t's file, and the job was started again with its state",
    ),
    (
        "E539",
        "too many splits or rows",
        "A table has at most 65,536 splits, and a split at most 2^40 rows.",
        "Merge small files, or declare several tables; start the job again with an empty state directory.",
        "SELECT a FROM t;  -- t is a directory of 70,000 files",
    ),
    (
        "E540",
        "output is being written by another job",
        "Two jobs that write one file would overwrite each other's rows.",
        "Wait for the other job, end it, or choose another path.",
        "INSERT INTO t SELECT a FROM u;  -- in two runs at the same time",
    ),
    (
        "E541",
        "output is not empty",
        "The file that a new job writes has rows, and no option states how to handle them.",
        "Replace them with `--overwrite`, append to them with `--append`, or choose another path.",
        "INSERT INTO t SELECT a FROM u;  -- a second time",
    ),
    (
        "E542",
        "table of the program cannot be read",
        "A table handed to a query has a column without an SQL type, or a value that does not fit.",
        "Cast the column before it is handed in, or remove it.",
        "SELECT a FROM t;  -- fsql.sql(query, tables={'t': rows}), where a is a decimal column",
    ),
    (
        "E543",
        "input lacks columns of the table",
        (
            "The header of a CSV file, the schema of a Parquet or Avro file, or the names of a file's folders"
            " do not fit the table."
        ),
        "Declare the columns of the file, or the option `header` of a CSV file.",
        "SELECT b FROM t;  -- t with a CSV file whose header is a,c",
    ),
    (
        "E544",
        "shards cannot be merged",
        "A file is not a shard of the table, or the job that writes it has not ended.",
        "Merge when the job has ended, with the script that wrote the shards.",
        "fsql merge script.sql --to merged.jsonl  -- a shard is incomplete",
    ),
    (
        "E545",
        "session does not allow the call",
        "The table is unknown or has ended, no open query reads it, or the session is closed.",
        "Declare tables and open queries before the first insert; insert before `drain` and `close`.",
        "SELECT a FROM t;  -- session.insert('u', rows), or session.insert('t', rows) after session.drain()",
    ),
    (
        "W501",
        "input does not exist",
        "A file or directory that a table reads does not exist now; the job cannot start without it.",
        "Correct the path, which is relative to the directory of the script, or create the file.",
        "SELECT a FROM t;  -- t with 'path' = 'missing.jsonl', seen by fsql check",
    ),
    (
        "W502",
        "malformed rows are not kept",
        "With 'on_error' = 'reject' and no 'rejects_path' malformed rows are counted and dropped.",
        "Add the option 'rejects_path'.",
        "SELECT a FROM t;  -- t with 'on_error' = 'reject'",
    ),
    (
        "W503",
        "field differs from a column in case only",
        "Names of JSON fields are compared exactly; the column is NULL in a row without its own field.",
        "Declare the column with the name of the field, in double quotes.",
        '{"userId": 1}  -- with a column userid',
    ),
    (
        "W504",
        "time seems to be in another unit",
        (
            "Numbers for a TIMESTAMP are milliseconds since 1970, those for a TIME microseconds of a day;"
            " these give days of 1970 or of a far future, or the first minutes of a day."
        ),
        "Set `timestamp_unit` or `time_unit` to the unit of the numbers: `s`, `ms`, `us` or `ns`.",
        '{"at": 1767225600}  -- 2026 in seconds, January 1970 in milliseconds',
    ),
    (
        "W505",
        "late rows are not kept",
        "Without 'late_path' rows that are too late for windows and joins are counted and dropped.",
        "Add the option 'late_path' to the table that is written.",
        "INSERT INTO t SELECT … FROM TUMBLE(clicks, at, INTERVAL '1' MINUTE) …;  -- t without 'late_path'",
    ),
    (
        "W506",
        "row is dated far ahead",
        "A row's event time is at least a year after that of a later row, which may be late for that reason.",
        "Correct or remove the row.",
        '{"at": "2099-01-01T00:00:00Z"}  -- among rows of 2026',
    ),
    (
        "W508",
        "files of a table differ",
        (
            "A column is missing in some files of the table, where it is NULL, or has other types, which are"
            " widened to that of the table."
        ),
        "Nothing, if the files are of different versions; otherwise read them as different tables.",
        "SELECT * FROM 'trips/*.parquet';  -- files of 2023 and 2024",
    ),
    (
        "W509",
        "column is in no row",
        (
            "No row of the files of JSON of a table has a field of the column's name, so the column is NULL."
            " Up to eight files of up to 32 MiB are looked at."
        ),
        "Declare the column by the name of a field, or do not use it.",
        '{"a": 1}  -- with a column b that is selected',
    ),
    (
        "W507",
        "column is likely misspelt",
        (
            "None of the first rows of a JSON file has a field of the column's name, and they have an"
            " undeclared one with a similar name. The column is NULL in rows without its field."
        ),
        "Declare the column with the name of the field.",
        '{"customer": "ann"}  -- with a column custmer',
    ),
)
