"""The rows of the code table for meaning (E3xx), functions (E4xx) and warnings (W3xx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

MEANING_ROWS: Final[tuple[Row, ...]] = (
    (
        "E301",
        "not implemented yet",
        "The grammar has this feature, but this version does not implement it.",
        "Rewrite the query; the message shows an alternative if there is one.",
        "SELECT SUM(a ORDER BY a) FROM t;",
    ),
    (
        "E302",
        "column is neither grouped nor aggregated",
        "A row of a grouped query represents many input rows, which may differ in this column.",
        "Add the column to GROUP BY, or aggregate it: `MAX(a)`.",
        "SELECT a, COUNT(*) FROM t;",
    ),
    (
        "E303",
        "aggregate is not allowed here",
        "WHERE, ON, GROUP BY and arguments of aggregates are evaluated for each input row.",
        "Filter groups with HAVING; to aggregate an aggregate, use a subquery in FROM.",
        "SELECT a FROM t WHERE COUNT(*) > 1;",
    ),
    (
        "E304",
        "window column is not event time",
        (
            "Windows close by the watermark, which also releases rows OVER an order. Event-time columns "
            "are columns with a WATERMARK, window ends, and columns that return one of these unchanged."
            " CURRENT_WATERMARK takes the column with the WATERMARK of the table that a query reads."
        ),
        "Declare a WATERMARK for the column in CREATE TABLE.",
        "SELECT COUNT(*) FROM TUMBLE(t, a, INTERVAL '1' MINUTE) GROUP BY window_start, window_end;",
    ),
    (
        "E305",
        "windowed rows are not grouped by window",
        (
            "A window function returns a row once for each window. Groups across windows would count it "
            "several times and would never close."
        ),
        "Group by window_start and window_end as well.",
        "SELECT COUNT(*) FROM TUMBLE(t, at, INTERVAL '1' MINUTE);",
    ),
    (
        "E306",
        "EMIT FINAL without a window",
        "A result is final when its window closes. Without a window, groups and ranks can always change.",
        "Group by a window, or use EMIT CHANGES.",
        "SELECT COUNT(*) FROM t EMIT FINAL;",
    ),
    (
        "E307",
        "invalid arguments of a window or table function",
        (
            "A window function takes a table, an event-time column and constant intervals: TUMBLE takes "
            "a size, HOP a slide and a size, CUMULATE a step and a size, SESSION a gap. A frame of OVER "
            "is bounded by numbers of rows, or by constant distances from its row. FROM_CHANGELOG "
            "takes a table with PARTITION BY its key, the column of operations, and a constant map of them. "
            "TO_CHANGELOG takes a table, a name for the column of operations, and a constant map of them. "
            "RUN takes a program, one or several tables, and the tag of an event."
        ),
        "Write the call or the frame as shown in the message.",
        "SELECT * FROM TUMBLE(t, at);",
    ),
    (
        "E308",
        "join without an equality",
        (
            "NATURAL JOIN finds no column of one name in both relations, or ON of ASOF JOIN has no equality."
            " A row would be joined with rows of all keys."
        ),
        "Write `JOIN … ON a.k = b.k`, or add such an equality to ON; to pair all rows, write CROSS JOIN.",
        "SELECT a.k FROM a ASOF JOIN b ON a.at >= b.at;",
    ),
    (
        "E309",
        "empty time range",
        "The lower bound of the join's time range is greater than its upper bound, so no rows can match.",
        "Swap the bounds, or correct their signs.",
        "SELECT a.k FROM a JOIN b ON a.k = b.k AND a.at > b.at AND a.at < b.at;",
    ),
    (
        "E310",
        "input must be append-only",
        "An updating query retracts rows, and this operation needs rows that are never retracted.",
        "Group the input by a window with EMIT FINAL, so that each result is emitted once.",
        "SELECT ARRAY_AGG(n) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a);",
    ),
    (
        "E311",
        "table does not accept the query's changes",
        "An append table accepts rows that never change; an upsert table needs a PRIMARY KEY.",
        "Set 'changes' = 'retract', or declare the PRIMARY KEY that the query has.",
        "INSERT INTO append_only SELECT a, COUNT(*) FROM t GROUP BY a;",
    ),
    (
        "E312",
        "tables have different kinds of time",
        "Rows of all tables are ordered by one kind of time. Static tables come before all others.",
        "Declare a WATERMARK for each table, or make the other a static table: 'time' = 'start'.",
        "SELECT a.k FROM events AS a JOIN numbered AS b ON a.k = b.k;  -- b with 'time' = 'offset'",
    ),
    (
        "E313",
        "invalid WATERMARK",
        "A watermark is the column, or the column minus a constant interval that is not negative.",
        "Write `WATERMARK FOR at AS at - INTERVAL '5' SECOND`.",
        (
            "CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at AS at + INTERVAL '1' SECOND) "
            "WITH ('connector' = 'file', 'path' = 'a.jsonl');"
        ),
    ),
    (
        "E314",
        "script is not a job",
        (
            "A job consists of all INSERTs of a script and at most one SELECT at its end. It reads no table "
            "that it writes."
        ),
        "Add, move or split statements as described in the message.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');",
    ),
    (
        "E315",
        "query is too complex",
        "An expression, or a query after views are expanded, exceeds the limit in the message.",
        "Split the query, and write intermediate results to a table.",
        "SELECT a + a + a + … FROM t;  -- 400 terms",
    ),
    (
        "E316",
        "invalid position in GROUP BY",
        "`GROUP BY 2` refers to the second column of SELECT, which must exist and must not be `*`.",
        "Write the expression instead of its position.",
        "SELECT a FROM t GROUP BY 2;",
    ),
    (
        "E317",
        "query reads no table",
        "`*` stands for the columns of the relations in FROM, and LATERAL for what follows one of them.",
        "Add FROM with a table.",
        "SELECT *;",
    ),
    (
        "E318",
        "columns do not fit the connector or format",
        "The connector or the format of the table cannot carry its columns.",
        "Change the columns, the connector or the format.",
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'path' = 'a.txt', 'format' = 'text');",
    ),
    (
        "E401",
        "invalid arguments",
        "The function does not accept arguments of this number or these types.",
        "Use one of the signatures listed in the message, or cast an argument.",
        "SELECT CARDINALITY(a) FROM t;  -- a BIGINT",
    ),
    (
        "E402",
        "function is not deterministic",
        "The value would differ between runs, and a result must be the same at each replay.",
        "Read the value from a column of the input.",
        "SELECT RAND() FROM t;",
    ),
    (
        "E403",
        "argument is not constant",
        "Arguments such as the separator of SPLIT and the unit of DATE_TRUNC must be constants.",
        "Use a string literal.",
        "SELECT SPLIT(s, p) FROM t;",
    ),
    (
        "E404",
        "invalid clause of a call",
        "DISTINCT, FILTER, ORDER BY, OVER and `*` are valid for aggregates only.",
        "Remove the clause, or call an aggregate.",
        "SELECT LOWER(DISTINCT s) FROM t;",
    ),
    (
        "E405",
        "invalid constant argument",
        (
            "The pattern of LIKE, the separator of SPLIT, the unit of DATE_TRUNC or the number of "
            "LIMIT, OFFSET, LAG, LEAD or NTH_VALUE is not valid."
        ),
        "Correct the constant as described in the message.",
        "SELECT SPLIT(s, '') AS x FROM t;",
    ),
    (
        "E411",
        "Python function cannot be used",
        "The module or the function does not exist, fails to load, or its types are missing or differ.",
        "Name the folder of the module with `--functions DIR`, and correct what the message names.",
        "CREATE FUNCTION f(s STRING) RETURNS STRING LANGUAGE PYTHON AS 'm:f';",
    ),
    (
        "W301",
        "state grows with the number of groups",
        "GROUP BY without a window keeps the state of every group, since each group can change later.",
        "Group by a window, or make sure that the number of keys is bounded.",
        "SELECT a, COUNT(*) FROM t GROUP BY a;",
    ),
    (
        "W302",
        "state grows with the input",
        (
            "A join without a time range keeps all rows of both sides, since each row can match later; so do"
            " subqueries in expressions, and OVER that is not in the order of event time. A pattern"
            " without WITHIN keeps the rows of each unfinished match."
        ),
        "Add a time range, `a.at BETWEEN b.at - INTERVAL '1' HOUR AND b.at`, or WITHIN to a pattern.",
        "SELECT a.k FROM a JOIN b ON a.k = b.k;",
    ),
    (
        "W303",
        "comparison with NULL",
        "The result of a comparison with NULL is NULL and never TRUE, so no row satisfies it.",
        "Write `IS NULL` or `IS NOT NULL`.",
        "SELECT k FROM t WHERE k = NULL;",
    ),
    (
        "W304",
        "filter by the current time",
        (
            "NOW() and the like are the time of the row in the order of the input. So a filter compares a row"
            " with the time at which it arrived. It does not remove the row later, as other engines do."
        ),
        "For the rows of the last hour, use a HOP window, or OVER with RANGE INTERVAL '1' HOUR PRECEDING.",
        "SELECT k FROM t WHERE at > NOW() - INTERVAL '1' HOUR;",
    ),
    (
        "W305",
        "windows with gaps",
        (
            "The slide of HOP is longer than the size, so there are times between two windows. Rows of these"
            " times are in no window, and not in the result."
        ),
        "Write the slide before the size. If a sample of the rows is what you want, ignore the warning.",
        "SELECT COUNT(*) FROM HOP(t, at, INTERVAL '1' HOUR, INTERVAL '5' MINUTE) GROUP BY window_end;",
    ),
    (
        "W306",
        "JSON_QUERY of several values",
        (
            "A path with `[*]` or `.*` may lead to several values. JSON_QUERY is NULL then, as in the"
            " standard, or what its clause ON ERROR says. Flink returns an array."
        ),
        "Write `WITH WRAPPER`, which gives an array of all values.",
        "SELECT JSON_QUERY(j, '$.tags[*]') FROM t;",
    ),
    (
        "W307",
        "pattern of a time is doubtful",
        (
            "A part of the pattern is where another one is expected. In patterns of Java `MM` is the month"
            " and `mm` the minute, `ss` the second and `SS` a fraction of it; an hour from 1 to 12 (`hh`,"
            " `HH12`) does not say which half of the day it is in."
        ),
        "Write the part that the message names. If the pattern is what you want, ignore the warning.",
        "SELECT DATE_FORMAT(at, 'HH:MM') FROM t;",
    ),
    (
        "E319",
        "too many tables",
        "A job can read only the first 128 tables that its script declares.",
        "Declare the tables that are read first, or split the script into several jobs.",
        "SELECT a FROM t129;  -- t129 is declared after 128 other tables",
    ),
    (
        "E320",
        "window size out of range",
        "A row is in too many windows, or a window is longer than 100 years.",
        "Use a smaller size or a larger slide.",
        "SELECT * FROM HOP(t, at, INTERVAL '1' SECOND, INTERVAL '100' DAY);",
    ),
    (
        "E321",
        "window function is not allowed here",
        (
            "A window function can be used in FROM, or once in GROUP BY. TUMBLE_START and similar"
            " functions must have the same arguments as the window function."
        ),
        "Use it in FROM or GROUP BY, and window_start and window_end elsewhere.",
        "SELECT TUMBLE(at, INTERVAL '1' SECOND) FROM t;",
    ),
    (
        "E322",
        "table without columns",
        "A table needs at least one column that is not computed.",
        "Add a column with a type.",
        "CREATE TABLE t (a AS 1) WITH ('connector' = 'blackhole');",
    ),
    (
        "E323",
        "invalid temporal or ASOF join",
        (
            "A temporal join is with a table whose rows are versions of a key: it has a PRIMARY KEY, which ON"
            " equates, and a WATERMARK, or is at rest; or with a view that keeps the last row of each key by"
            " its event time. The time is an event-time column of the left side. An ASOF join compares one"
            " event time of each side."
        ),
        "Declare what the message names in CREATE TABLE, or add the equality to ON.",
        "SELECT a.k FROM a JOIN b FOR SYSTEM_TIME AS OF a.at ON a.k = b.k;  -- b without a PRIMARY KEY",
    ),
    (
        "E324",
        "subquery can have several rows",
        (
            "A subquery as a value has at most one row, which must be known before the query runs. It is"
            " an aggregate without GROUP BY, has LIMIT 1, or its WHERE equates a whole key of what it reads."
        ),
        "Aggregate the values, `(SELECT MAX(a) FROM t)`, or compare with all of them by IN.",
        "SELECT a FROM t WHERE a = (SELECT a FROM u);",
    ),
    (
        "E325",
        "invalid option of LIKE",
        (
            "The options of LIKE define for each part of the other table, or for ALL, whether it is"
            " included, excluded or overwritten."
        ),
        "Correct the option as described in the message.",
        "CREATE TABLE u LIKE t (EXCLUDING COLUMNS);",
    ),
    (
        "E326",
        "invalid row pattern",
        (
            "MATCH_RECOGNIZE needs an ORDER BY and a PATTERN that matches at least one row. DEFINE and"
            " MEASURES can use only the variables of the pattern."
        ),
        "Correct the clause as described in the message.",
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at PATTERN (A) DEFINE B AS a > 1);",
    ),
    (
        "E327",
        "rows have no time here",
        (
            "PROCTIME(), NOW() and CURRENT_TIMESTAMP are the time of a row where a table is read: the event"
            " time that has been reached, or the arrival of a row of a live source. Rows of a file without a"
            " WATERMARK have no time, and rows of a join or of groups have several. Changes (TO_CHANGELOG)"
            " have the time at which they are made. CURRENT_WATERMARK(at) is the watermark at that time."
        ),
        (
            "Declare a WATERMARK, or the column `proc AS PROCTIME()` in CREATE TABLE. For CURRENT_WATERMARK,"
            " read the table in a subquery."
        ),
        "SELECT NOW() FROM a JOIN b ON a.k = b.k;",
    ),
)
"""The rows, by code."""
