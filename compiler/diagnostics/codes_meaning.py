"""The rows of the code table for meaning (E3xx), functions (E4xx) and warnings (W3xx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

MEANING_ROWS: Final[tuple[Row, ...]] = (
    (
        "E301",
        "not implemented yet",
        "The language has it, this version does not carry it out.",
        "Where there is another way to say it, the message shows it.",
        "SELECT a FROM t ORDER BY a LIMIT 3;",
    ),
    (
        "E302",
        "column is neither grouped nor aggregated",
        "A row of a grouped query stands for many rows, which may differ in this column.",
        "Add the column to GROUP BY, or aggregate it: `MAX(a)`.",
        "SELECT a, COUNT(*) FROM t;",
    ),
    (
        "E303",
        "aggregate in a place without groups",
        "WHERE, ON, GROUP BY and the arguments of aggregates are computed from single rows.",
        "Filter groups with HAVING; aggregate an aggregate with a subquery in FROM.",
        "SELECT a FROM t WHERE COUNT(*) > 1;",
    ),
    (
        "E304",
        "window on a column that is not event time",
        (
            "Windows close by the watermark, which only event-time columns have to do with: those with a "
            "WATERMARK, window ends, and columns that pass them on unchanged."
        ),
        "Declare a WATERMARK for the column in CREATE TABLE.",
        "SELECT COUNT(*) FROM TUMBLE(t, a, INTERVAL '1' MINUTE) GROUP BY window_start, window_end;",
    ),
    (
        "E305",
        "windowed rows grouped without the window's end",
        (
            "A row of a window function comes once for each window; groups across windows would count it "
            "more than once and never close."
        ),
        "Group by window_start and window_end as well.",
        "SELECT COUNT(*) FROM TUMBLE(t, at, INTERVAL '1' MINUTE);",
    ),
    (
        "E306",
        "EMIT FINAL without a window",
        "A result is final when its window closes; without a window it may change for ever.",
        "Group by a window, or write EMIT CHANGES.",
        "SELECT COUNT(*) FROM t EMIT FINAL;",
    ),
    (
        "E307",
        "arguments of a window function",
        (
            "A window function takes a table, a column and constant intervals: TUMBLE the size; HOP "
            "the slide and the size."
        ),
        "Write it as the message shows.",
        "SELECT * FROM TUMBLE(t, at, INTERVAL '0' SECOND);",
    ),
    (
        "E308",
        "join without an equality",
        "Rows meet by their keys: a join needs at least one equality between the two sides.",
        "Write `a.k = b.k` in ON, or in WHERE after a comma.",
        "SELECT a.k FROM a, b WHERE a.k < b.k;",
    ),
    (
        "E309",
        "time range without room",
        "The bounds of the join's time range exclude each other, so no pair can ever join.",
        "Exchange the bounds, or correct their signs.",
        "SELECT a.k FROM a JOIN b ON a.k = b.k AND a.at > b.at AND a.at < b.at;",
    ),
    (
        "E310",
        "updating input where rows have to stay",
        "The rows of an updating query are taken back again; this needs rows that stay.",
        "Group by a window with EMIT FINAL before, so that each result comes once.",
        "SELECT ARRAY_AGG(n) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a);",
    ),
    (
        "E311",
        "table cannot take the query's changes",
        "An append table takes rows that stay; an upsert table rows that its PRIMARY KEY tells apart.",
        "Write the changes with 'changes' = 'retract', or declare the key that the query guarantees.",
        "INSERT INTO append_only SELECT a, COUNT(*) FROM t GROUP BY a;",
    ),
    (
        "E312",
        "times of the tables do not go together",
        "The order of rows across tables is by one kind of time; tables at rest come before all.",
        "Declare a WATERMARK for each, or read the other as a table at rest: 'time' = 'start'.",
        "SELECT a.k FROM events AS a JOIN numbered AS b ON a.k = b.k;  -- b with 'time' = 'offset'",
    ),
    (
        "E313",
        "form of a WATERMARK",
        "A watermark is the column, or the column less a constant interval that is not negative.",
        "Write `WATERMARK FOR at AS at - INTERVAL '5' SECOND`.",
        (
            "CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at AS at + INTERVAL '1' SECOND) "
            "WITH ('connector' = 'file', 'path' = 'a.jsonl');"
        ),
    ),
    (
        "E314",
        "script that cannot be one job",
        (
            "A job is all INSERTs of a script, and at most one SELECT at its end; it reads no table "
            "that it writes."
        ),
        "Add, move or split statements as the message says.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');",
    ),
    (
        "E315",
        "query too large",
        "An expression, or a query with its views put in, is larger than the limit in the message.",
        "Split it; write intermediate results to a table.",
        "SELECT a + a + a + … FROM t;  -- 400 terms",
    ),
    (
        "E316",
        "position in GROUP BY",
        "`GROUP BY 2` means the second column of SELECT, which must be there, and not be `*`.",
        "Write the expression itself.",
        "SELECT a FROM t GROUP BY 2;",
    ),
    (
        "E317",
        "query that reads no table",
        "A streaming query gives a row for what it reads; without a table it would never run.",
        "Read a table.",
        "SELECT 1;",
    ),
    (
        "E318",
        "table declaration that does not fit its connector",
        "A text table has one STRING column; a key or watermark names columns of its table.",
        "Change the columns or the option that the message names.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'path' = 'a.txt', 'format' = 'text');",
    ),
    (
        "E401",
        "arguments do not fit the function",
        "The function has no form that takes these arguments.",
        "Use one of the forms that the message lists, or cast an argument.",
        "SELECT CARDINALITY(a) FROM t;  -- a BIGINT",
    ),
    (
        "E402",
        "function is not deterministic",
        "The value would differ from run to run, and a result has to be the same at every replay.",
        "Let the input bring the value, in a column of its own.",
        "SELECT RAND() FROM t;",
    ),
    (
        "E403",
        "argument has to be a literal",
        "The pattern of LIKE and the separator of SPLIT are part of the query.",
        "Write the text in quotes.",
        "SELECT a FROM t WHERE s LIKE p;",
    ),
    (
        "E404",
        "form of a call",
        "DISTINCT, FILTER, ORDER BY, OVER and `*` belong to aggregates.",
        "Remove the clause, or call an aggregate.",
        "SELECT LOWER(DISTINCT s) FROM t;",
    ),
    (
        "W301",
        "state grows with the number of groups",
        "A GROUP BY without a window keeps every group, since any of them may change later.",
        "Group by a window where the groups end, or see to it that the keys are few.",
        "SELECT a, COUNT(*) FROM t GROUP BY a;",
    ),
    (
        "W302",
        "state grows with the input",
        "A join without a time range keeps all rows, since any of them may match later.",
        "Bound the time between the sides: `a.at BETWEEN b.at - INTERVAL '1' HOUR AND b.at`.",
        "SELECT a.k FROM a JOIN b ON a.k = b.k;",
    ),
    (
        "E319",
        "too many tables",
        "Rows are ordered by the number of their table among others; only the first 128 can be read.",
        "Declare the tables that are read first, or write several jobs.",
        "SELECT a FROM t129;  -- t129 is declared behind 128 other tables",
    ),
)
"""The rows, by code."""
