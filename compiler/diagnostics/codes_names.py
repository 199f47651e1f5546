"""The rows of the code table for names and types (E2xx): code, title, cause, fix, example."""

from __future__ import annotations

from typing import Final

Row = tuple[str, str, str, str, str]

NAME_ROWS: Final[tuple[Row, ...]] = (
    (
        "E201",
        "table does not exist",
        "No CREATE TABLE, CREATE VIEW or WITH before this place declares the name.",
        "Declare it before it is used, or correct the name; a similar one is suggested.",
        "SELECT a FROM nowhere;",
    ),
    (
        "E202",
        "function does not exist",
        "fsql has no function of that name.",
        "Use one that the language reference lists; a similar one is suggested.",
        "SELECT LENGHT(s) FROM t;",
    ),
    (
        "E203",
        "column does not exist",
        "No relation in FROM has a column of that name, or the qualifier names no relation there.",
        "Correct the name; what the relations have is listed.",
        "SELECT amnt FROM payments;",
    ),
    (
        "E204",
        "name is ambiguous",
        "Several columns in view have the name.",
        "Write which one is meant: `table.column`.",
        "SELECT k FROM a JOIN b ON a.k = b.k;",
    ),
    (
        "E205",
        "name used twice",
        "Two tables, relations or columns in one place have the same name.",
        "Rename one of them; relations and columns with AS.",
        "SELECT a.k FROM a, b AS a WHERE a.k = a.k;",
    ),
    (
        "E206",
        "types do not go together",
        "The operands have no common type: only INT, BIGINT and DOUBLE convert into each other unasked.",
        "Cast one of them: `CAST(a AS STRING)`.",
        "SELECT a FROM t WHERE a = 'x';  -- a BIGINT",
    ),
    (
        "E207",
        "condition is not BOOLEAN",
        "WHERE, HAVING, ON, WHEN, AND, OR and NOT take conditions.",
        "Compare the value with something: `a <> 0`.",
        "SELECT a FROM t WHERE a;  -- a BIGINT",
    ),
    (
        "E208",
        "no such cast",
        "Values of the one type have no counterpart in the other.",
        "Use a function that says how, such as EPOCH_MILLIS or TIMESTAMP_MILLIS.",
        "SELECT CAST(at AS BIGINT) FROM t;",
    ),
    (
        "E209",
        "number of columns differs",
        "An INSERT, a UNION or a list of column names pairs columns one to one.",
        "Write as many columns as the other side has.",
        "INSERT INTO one_column SELECT a, b FROM t;",
    ),
    (
        "E210",
        "column of another type",
        "The query's column does not convert unasked to the type of the table's column.",
        "Cast it in the query.",
        "INSERT INTO counts SELECT word, 1.5 FROM t;  -- into a BIGINT",
    ),
    (
        "E211",
        "NULL may reach a NOT NULL column",
        "The query's column may be NULL and the table's column is NOT NULL.",
        "Replace NULL with COALESCE, or declare the column without NOT NULL.",
        "INSERT INTO strict SELECT a FROM t;",
    ),
    (
        "E212",
        "unknown connector",
        "The option 'connector' is missing, or names no connector.",
        "Use one of the connectors that the message lists.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'fiel');",
    ),
    (
        "E213",
        "unknown option",
        "The connector has no such option.",
        "Use one of the options that the message lists.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'pth' = 'a.jsonl');",
    ),
    (
        "E214",
        "option does not fit",
        "An option is missing, has a value that it cannot have, or does not go with the others.",
        "Give it a value that the message lists.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file');",
    ),
    (
        "E215",
        "literal has no value",
        "The number is beyond its type, or the text of the TIMESTAMP or INTERVAL cannot be read.",
        "Correct the literal; the message shows the form.",
        "SELECT TIMESTAMP '2024-02-30' FROM t;",
    ),
    (
        "E216",
        "unknown type",
        "fsql has no type of that name, or not with those numbers.",
        "Use BOOLEAN, INT, BIGINT, DOUBLE, STRING, TIMESTAMP, INTERVAL or ARRAY<type>.",
        "CREATE TABLE t (a BIGIT) WITH ('connector' = 'blackhole');",
    ),
    (
        "E217",
        "another kind of object is needed",
        "A view cannot be written to, and a connector that only writes cannot be read.",
        "Use a table whose connector can do it; the message names the kind.",
        "INSERT INTO some_view SELECT a FROM t;",
    ),
    (
        "E218",
        "value is not an ARRAY",
        "UNNEST and `a[1]` take arrays.",
        "Use a column of an ARRAY type, or make one: `SPLIT(s, ' ')`.",
        "SELECT x FROM t CROSS JOIN UNNEST(t.name) AS u(x);",
    ),
)
"""The rows, by code."""
