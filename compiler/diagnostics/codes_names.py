"""The rows of the code table for names and types (E2xx): code, title, cause, fix, example."""

from __future__ import annotations

from typing import Final

Row = tuple[str, str, str, str, str]

NAME_ROWS: Final[tuple[Row, ...]] = (
    (
        "E201",
        "table does not exist",
        "No preceding CREATE TABLE, CREATE VIEW or WITH declares the name.",
        "Declare the table before the statement that uses it, or correct the name.",
        "SELECT a FROM nowhere;",
    ),
    (
        "E202",
        "function does not exist",
        "There is no function of that name.",
        "Correct the name, or use a function of `docs/functions.md`.",
        "SELECT LENGHT(s) FROM t;",
    ),
    (
        "E203",
        "column does not exist",
        "No relation in FROM has a column of that name.",
        "Correct the name; the message lists the columns.",
        "SELECT amnt FROM payments;",
    ),
    (
        "E204",
        "name is ambiguous",
        "Several relations in FROM have a column of that name.",
        "Qualify the name: `table.column`.",
        "SELECT k FROM a JOIN b ON a.k = b.k;",
    ),
    (
        "E205",
        "name used twice",
        "Two tables, columns, options, or relations of one FROM have the same name.",
        "Rename one of them; use AS for relations and columns.",
        "SELECT a.k FROM a, b AS a WHERE a.k = a.k;",
    ),
    (
        "E206",
        "type mismatch",
        "The operands have no common type. Implicit conversion is only to types that have all values.",
        "Cast one operand: `CAST(a AS STRING)`.",
        "SELECT a FROM t WHERE a = 'x';  -- a BIGINT",
    ),
    (
        "E207",
        "condition is not BOOLEAN",
        "WHERE, HAVING, ON, WHEN, AND, OR and NOT need a BOOLEAN value.",
        "Write a comparison: `a <> 0`.",
        "SELECT a FROM t WHERE a;  -- a BIGINT",
    ),
    (
        "E208",
        "cast is not supported",
        "There is no cast between these types.",
        "Use a conversion function such as EPOCH_MILLIS or TIMESTAMP_MILLIS.",
        "SELECT CAST(at AS BIGINT) FROM t;",
    ),
    (
        "E209",
        "different numbers of columns",
        "INSERT, UNION and lists of column names match columns by position.",
        "Use the same number of columns on both sides.",
        "INSERT INTO one_column SELECT a, b FROM t;",
    ),
    (
        "E210",
        "column type mismatch",
        "The type of the query's column is not implicitly converted to the type of the table's column.",
        "Cast the column in the query.",
        "INSERT INTO counts SELECT word, 'one' FROM t;  -- into a BIGINT",
    ),
    (
        "E211",
        "NULL value for a NOT NULL column",
        "The query's column is nullable and the table's column is NOT NULL.",
        "Replace NULL with COALESCE, or declare the column without NOT NULL.",
        "INSERT INTO strict SELECT a FROM t;",
    ),
    (
        "E212",
        "unknown connector",
        "The option 'connector' is missing, or there is no connector of that name.",
        "Use one of the connectors listed in the message.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'fiel');",
    ),
    (
        "E213",
        "unknown option",
        "The connector has no such option.",
        "Use one of the options listed in the message.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'pth' = 'a.jsonl');",
    ),
    (
        "E214",
        "invalid option value",
        "The option does not take this value.",
        "Use one of the values described in the message.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'path' = 'a.jsonl', 'grain_ms' = '0');",
    ),
    (
        "E215",
        "invalid literal",
        "The number is out of range, or the text is not a valid TIMESTAMP, DATE, TIME or INTERVAL.",
        "Correct the literal; the message shows the format.",
        "SELECT TIMESTAMP '2024-02-30' FROM t;",
    ),
    (
        "E216",
        "unknown type",
        "There is no type of that name, or it does not take these arguments.",
        "Use one of the types of `docs/language.md`, such as BIGINT, DECIMAL(p, s), STRING or TIMESTAMP.",
        "CREATE TABLE t (a BIGIT) WITH ('connector' = 'blackhole');",
    ),
    (
        "E217",
        "wrong kind of object",
        "A view cannot be written, and a table whose connector is only a sink cannot be read.",
        "Use a table whose connector supports the operation.",
        "INSERT INTO some_view SELECT a FROM t;",
    ),
    (
        "E218",
        "value is not an ARRAY",
        "UNNEST and subscripts need an ARRAY or a MAP.",
        "Use an ARRAY column, or make an array: `SPLIT(s, ' ')`.",
        "SELECT x FROM t CROSS JOIN UNNEST(t.name) AS u(x);",
    ),
    (
        "E219",
        "window does not exist",
        "The WINDOW clause of the SELECT declares no window of that name.",
        "Declare the window in WINDOW, or write its specification in OVER.",
        "SELECT COUNT(*) OVER w FROM t;",
    ),
    (
        "E220",
        "table is not in FROM",
        "The qualifier of a column is not the name of a relation in FROM.",
        "Add the table to FROM, or correct the qualifier; a table with an alias is known by its alias.",
        "SELECT u.a FROM t;",
    ),
    (
        "E221",
        "option is missing",
        "The connector requires an option that the table does not have.",
        "Add the option named in the message.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file');",
    ),
    (
        "E222",
        "option has no effect",
        "The option changes nothing without another option, or without event time.",
        "Add what the message names, or remove the option.",
        (
            "CREATE TABLE t (a INT) "
            "WITH ('connector' = 'file', 'path' = 'a.jsonl', 'rejects_path' = 'rejects.jsonl');"
        ),
    ),
    (
        "E223",
        "options conflict",
        "An option cannot have this value together with another option, column or table of the job.",
        "Change one of the two.",
        (
            "CREATE TABLE t (a INT) "
            "WITH ('connector' = 'file', 'path' = 'a.csv', 'format' = 'csv', 'delimiter' = '\"');"
        ),
    ),
    (
        "E224",
        "setting is not supported",
        "SET names a setting that does not exist, or a value with which results would differ.",
        "Remove the statement; the message names the replacement.",
        "SET 'table.local-time-zone' = 'Europe/Olso';",
    ),
    (
        "E225",
        "columns cannot be inferred",
        "A table has no declared columns, and its input does not show them.",
        "Declare the columns in CREATE TABLE.",
        "SELECT * FROM 'rows.dat';",
    ),
    (
        "W201",
        "format does not match the path",
        "The table has no option `format`, and its path has the extension of another format.",
        "Write the option `format`.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'path' = 'a.csv');",
    ),
    (
        "W202",
        "setting has no effect",
        "SET names a setting of another system that cannot change the results here.",
        "Remove the statement; the message names the replacement, if there is one.",
        "SET 'parallelism.default' = '4'; SELECT a FROM t;",
    ),
    (
        "W203",
        "clause has no effect",
        "A clause, option or hint of another system cannot change the results here.",
        "Remove it; the message names the replacement, if there is one.",
        "CREATE TABLE t (a INT, day DATE) PARTITIONED BY (day) WITH ('connector' = 'blackhole');",
    ),
    (
        "W204",
        "column has the name of a folder",
        "The path has a folder `column=…`, but the column is not one of PARTITIONED BY.",
        "Write PARTITIONED BY if the value of the column is in the name of the folder.",
        "SELECT day FROM t;  -- t with 'path' = 'sales/day=*/*.jsonl'",
    ),
    (
        "W205",
        "result is not stored",
        "CREATE TABLE or CREATE STREAM with a query, but without WITH, names the query, as CREATE VIEW does.",
        "Write CREATE VIEW, or say in WITH where the rows are written.",
        "CREATE TABLE totals AS SELECT k, SUM(n) AS n FROM t GROUP BY k; SELECT k FROM totals;",
    ),
    (
        "W206",
        "values are rounded to whole numbers",
        "DECIMAL and NUMERIC without digits are DECIMAL(10, 0), as in Flink. PostgreSQL keeps all digits.",
        "Write the digits, and how many of them are after the point: DECIMAL(18, 4).",
        "CREATE TABLE t (price NUMERIC) WITH ('connector' = 'file', 'path' = 't.jsonl');",
    ),
    (
        "W207",
        "header has values",
        "The first line of a CSV file names the columns; here a name is a value like those of its column.",
        "If the first line is a row, declare `'header' = 'false'`; the columns are `column1` and so on.",
        "SELECT * FROM 'rows.csv';  -- a file that begins with 1,2026-01-01",
    ),
    (
        "W208",
        "rows of a stream are changed later",
        "A join with a table changes earlier results as the table changes. In ksqlDB, it does not.",
        "Write FOR SYSTEM_TIME AS OF with the event time of the stream, or CREATE TABLE.",
        "CREATE STREAM named AS SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer;",
    ),
    (
        "W209",
        "documents are texts",
        "A column of type JSON or JSONB is a STRING: an object or array of the input is read as its text.",
        "Write STRING; for values that are all numbers, their type.",
        "CREATE TABLE t (payload JSONB) WITH ('connector' = 'blackhole');",
    ),
    (
        "W210",
        "columns take any value",
        "The values of an inferred column have no common type, or no type of numbers holds their digits.",
        "Read the column as STRING: a text is itself, any other value its JSON text. Or declare the columns.",
        'SELECT * FROM \'mixed.jsonl\';  -- a file with {"a": 1} and {"a": "x"}',
    ),
)
"""The rows, by code."""
