"""A translation of logical plans to DuckDB SQL: what the final result is, by another engine.

Each operator becomes one common table expression with columns c0, c1, … and, where the plan is append-only,
`pos`: the row's position as one list, [time, origin, path…].  Lists compare as positions do, so the
translation can say which rows are late, which of two joined rows came later, and in what order running
aggregates see them.  TIMESTAMP and INTERVAL are BIGINT microseconds.  Only the final result is compared,
as a bag of rows, and only of runs without an error.

What DuckDB means otherwise, and is therefore not translated (`Excluded`):

* CAST of DOUBLE and TIMESTAMP to STRING: DuckDB writes both in another form.
* UPPER and LOWER of anything but ASCII and simple letters: DuckDB maps one code point to one.
* SUBSTRING from a computed position: DuckDB counts a negative one from the end of the string.
* POWER: not the same in the last digit.
* Sessions with a gap: which of them a row joins depends on the rows before it.
* Windows over updating input: which rows a closed window had is not in the final state.
* AVG, and SUM of DOUBLE, are exact to about 9 digits only.  So they are compared to 9 digits, and a query
  that does more with them than to pass them on is left out.

What DuckDB means otherwise and the translation bridges: integers divide by zero with an error (only rows
that a lazy operator protects can come to this: NULL there), GREATEST and LEAST pass over NULLs, the square
root of a negative number fails, casts to integers round, an aggregate without GROUP BY has a row for no
rows, MIN and MAX of a zero may have the other sign (zeros are compared without sign).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import AggregateFunction, ColumnRef
from fsql.tests.property.duckdb_expressions import (
    ExcludedError,
    aggregate_sql,
    expression_sql,
    floor_divide,
)
from fsql.tests.reference.delays import behind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Translation:
    """The common table expressions of one query, one for each of its operators."""

    def __init__(self) -> None:
        self.tables: dict[logical.Plan, str] = {}
        self.expressions: list[str] = []

    def query(self, plan: logical.Plan) -> str:
        """Return the SQL of the final result of `plan`; table ordinal n is the table `input_n`."""
        for node in logical.operators(plan):
            name = f"n{len(self.tables)}"
            self.expressions.append(f"{name} AS (\n{self.select(node)}\n)")
            self.tables[node] = name
        columns = ", ".join(column_names(plan))
        return f"WITH {', '.join(self.expressions)}\nSELECT {columns} FROM {self.tables[plan]}"

    def select(self, plan: logical.Plan) -> str:
        """Return the SELECT of one operator.

        Raises:
            ExcludedError: DuckDB means it otherwise.
        """
        selects: dict[type, Callable[..., str]] = {
            logical.Scan: self.scan,
            logical.Filter: self.filter,
            logical.CountLateRows: self.same_rows,
            logical.Project: self.project,
            logical.Unnest: self.unnest,
            logical.LateralAggregate: self.lateral_aggregate,
            logical.AssignWindows: self.assign_windows,
            logical.AssignSessions: self.assign_sessions,
            logical.Union: self.union,
            logical.Aggregate: self.aggregate,
            logical.WindowAggregate: self.window_aggregate,
            logical.Over: self.over,
            logical.Rank: self.rank,
            logical.Join: self.join,
        }
        if type(plan) not in selects:
            raise ExcludedError(f"{type(plan).__name__}, which it does not have")
        return selects[type(plan)](plan)

    def scan(self, plan: logical.Scan) -> str:
        """The table's columns, and time and origin, which the input has."""
        names = ", ".join(column_names(plan))
        return f"SELECT {names}, [time, origin, {plan.scan_number}] AS pos FROM input_{plan.table.ordinal}"

    def filter(self, plan: logical.Filter) -> str:
        """WHERE."""
        condition = expression_sql(plan.predicate, column_names(plan))
        return f"SELECT * FROM {self.tables[plan.input]} WHERE {condition}"

    def same_rows(self, plan: logical.CountLateRows) -> str:
        """All rows: late ones are copied."""
        return f"SELECT * FROM {self.tables[plan.input]}"

    def project(self, plan: logical.Project) -> str:
        """SELECT."""
        below = column_names(plan.input)
        items = [expression_sql(expression, below) for expression in plan.expressions]
        return select(named(items), plan, "pos", self.tables[plan.input])

    def unnest(self, plan: logical.Unnest) -> str:
        """Lateral over the indexes of the array."""
        below = column_names(plan.input)
        array = expression_sql(plan.array, below)
        items = [*below, "list_extract(array_, index_)"]
        items += ["index_"] if plan.ordinality_name is not None else []
        rows = f"SELECT *, {array} AS array_ FROM {self.tables[plan.input]}"
        unnested = f"(SELECT *, unnest(range(1, len(array_) + 1)) AS index_ FROM ({rows}))"
        return select(named(items), plan, "list_append(pos, index_ - 1)", unnested)

    def lateral_aggregate(self, plan: logical.LateralAggregate) -> str:
        """Unnest rows that have numbers, and group by the number."""
        below = column_names(plan.input)
        width = len(below)
        array = expression_sql(plan.array, below)
        position = ", pos" if logical.append_only(plan) else ""
        rows = (
            f"SELECT {', '.join(below)}{position}, {array} AS array_, row_number() OVER () AS row_ "
            f"FROM {self.tables[plan.input]}"
        )
        elements = (
            f"SELECT *, list_extract(array_, index_) AS c{width}, index_ AS c{width + 1} FROM "
            f"(SELECT *, unnest(range(1, len(array_) + 1)) AS index_ FROM ({rows}))"
        )
        inner = [*below, f"c{width}", f"c{width + 1}"]
        kept = "TRUE" if plan.predicate is None else expression_sql(plan.predicate, inner)
        keys = [expression_sql(key, inner) for key in plan.keys]
        aggregates = [aggregate_sql(call, inner, "index_") for call in plan.aggregates]
        groups = named(["row_", *keys, "min(index_)", *aggregates], stem="g")
        numbers = ", ".join(str(index + 1) for index in range(1 + len(keys)))
        grouped = f"SELECT {groups} FROM ({elements}) WHERE {kept} GROUP BY {numbers}"
        results = [f"g{index + 1}" for index in range(len(keys))]
        for index, call in enumerate(plan.aggregates):
            result = f"g{len(keys) + 2 + index}"
            counts = call.function is AggregateFunction.COUNT
            results.append(f"coalesce({result}, 0)" if counts else result)
        order = f"row_number() OVER (PARTITION BY r.row_ ORDER BY g{len(keys) + 1}) - 1"
        return select(
            named([*(f"r.{name}" for name in below), *results]),
            plan,
            f"list_append(pos, {order})",
            f"({rows}) AS r {'' if plan.keys else 'LEFT '}JOIN ({grouped}) AS g ON r.row_ = g.g0",
        )

    def assign_windows(self, plan: logical.AssignWindows) -> str:
        """Lateral over the numbers of the windows."""
        below = column_names(plan.input)
        time, slide = f"c{plan.time_column}", str(plan.slide_us)
        first = floor_divide(f"({time} - {plan.size_us} - {plan.offset_us})", slide) + " + 1"
        last = floor_divide(f"({time} - {plan.offset_us})", slide)
        windows = (
            f"(SELECT *, {first} AS first_, unnest(range({first}, {last} + 1)) AS number_ "
            f"FROM {self.tables[plan.input]})"
        )
        start = f"({plan.offset_us} + number_ * {plan.slide_us})"
        end = f"({start} + {plan.size_us})"
        items = named([*below, start, end, f"({end} - 1)"])
        return select(items, plan, "list_append(pos, number_ - first_)", windows)

    def assign_sessions(self, plan: logical.AssignSessions) -> str:
        """Left out, but for those that order rows by time alone: each row is its own, unless late."""
        time = plan.time_column
        if plan.end_column != time or plan.order_column != time:
            raise ExcludedError(type(plan).__name__)
        below = column_names(plan.input)
        closes = closing(plan, time, f"(c{time} + 1)")
        late = f"(pos[1] > {closes} OR pos[1] = {closes} AND pos[2] > -1)"
        return select(
            named([*below, f"c{time}", f"c{time}", f"c{time} - 1"]),
            plan,
            f"list_concat([{closes}, -1, c{time}, c{time}], pos)",
            f"{self.tables[plan.input]} WHERE NOT {late}",
        )

    def union(self, plan: logical.Union) -> str:
        """UNION ALL, paths padded."""
        depth = logical.depth(plan) + 2
        return "\nUNION ALL\n".join(
            select(", ".join(column_names(plan)), plan, padded("pos", depth), self.tables[branch])
            for branch in plan.branches
        )

    def aggregate(self, plan: logical.Aggregate) -> str:
        """GROUP BY; without keys there is no row for no rows."""
        return self.grouped(plan, "TRUE")

    def window_aggregate(self, plan: logical.WindowAggregate) -> str:
        """GROUP BY of the rows that are not late."""
        if not logical.append_only(plan.input):
            raise ExcludedError("a window over updating input")
        closes = closing(plan, plan.window_end, f"c{plan.window_end}")
        grouped = self.grouped(plan, f"(pos[1] < {closes} OR pos[1] = {closes} AND pos[2] = -1)")
        if not plan.final:
            return grouped
        end = next(
            f"c{index}"
            for index, key in enumerate(plan.keys)
            if isinstance(key, ColumnRef) and key.index == plan.window_end
        )
        scan_number = logical.least_scan_number(plan)
        closes = closing(plan, plan.window_end, end)
        return f"SELECT *, [{closes}, -1, {scan_number}] AS pos FROM ({grouped})"

    def grouped(self, plan: logical.Aggregate | logical.WindowAggregate, kept: str) -> str:
        """Return the GROUP BY."""
        below = column_names(plan.input)
        keys = [expression_sql(key, below) for key in plan.keys]
        aggregates = [aggregate_sql(call, below, "pos") for call in plan.aggregates]
        numbers = ", ".join(str(index + 1) for index in range(len(keys)))
        group = f"GROUP BY {numbers}" if keys else "HAVING COUNT(*) > 0"
        return (
            f"SELECT {named([*keys, *aggregates])} FROM {self.tables[plan.input]} "
            f"WHERE {kept} {group}"
        )

    def rank(self, _plan: logical.Rank) -> str:
        """Nothing: what is ranked where rows are equal is not for a final state to say."""
        raise ExcludedError("ranks")

    def over(self, plan: logical.Over) -> str:
        """Windows of rows, ordered by position, then by the row."""
        below = column_names(plan.input)
        partition = [expression_sql(key, below) for key in plan.partition]
        by = f"PARTITION BY {', '.join(partition)} " if partition else ""
        calls = []
        for call in plan.calls:
            now = call.frame_end is logical.FrameEnd.CURRENT_ROW
            start = "UNBOUNDED" if call.preceding is None else str(call.preceding)
            bounds = f"BETWEEN {start} PRECEDING AND {'CURRENT ROW' if now else '1 PRECEDING'}"
            over = f" OVER ({by}ORDER BY pos, {', '.join(below)} ROWS {bounds})"
            if call.time is not None:
                if call.aggregate.function is AggregateFunction.ARRAY_AGG:
                    raise ExcludedError("the order of peers in an array")
                over = f" OVER ({by}ORDER BY {expression_sql(call.time, below)} RANGE {bounds})"
            calls.append(aggregate_sql(call.aggregate, below, "pos", over))
        return select(named([*below, *calls]), plan, "pos", self.tables[plan.input])

    def join(self, plan: logical.Join) -> str:
        """JOIN, the later row's position with the pair's number."""
        left, right = column_names(plan.left), column_names(plan.right)
        lefts, rights = [f"l.{name}" for name in left], [f"r.{name}" for name in right]
        on = [
            f"{expression_sql(a, lefts)} = {expression_sql(b, rights)}"
            for a, b in zip(plan.left_keys, plan.right_keys, strict=True)
        ]
        numbered = [
            f"(SELECT *, row_number() OVER () AS row_ FROM {self.tables[side]})"
            for side in (plan.left, plan.right)
        ]
        source = f"{numbered[0]} AS l JOIN {numbered[1]} AS r ON "
        if not logical.append_only(plan):
            return select(named([*lefts, *rights]), plan, "", source + " AND ".join(on))
        depth = logical.depth(plan) + 1
        at_left, at_right = padded("l.pos", depth), padded("r.pos", depth)
        right_later = f"({at_left} <= {at_right})"
        if plan.time_range is not None:
            bounds = plan.time_range
            a, b = f"l.c{bounds.left_time}", f"r.c{bounds.right_time}"
            on.append(f"{b} BETWEEN {a} + {bounds.low_us} AND {a} + {bounds.high_us}")
            grain = logical.grain_us(plan)
            delay = max(behind(plan.left, bounds.left_time), behind(plan.right, bounds.right_time))
            time = f"(CASE WHEN {right_later} THEN r.pos[1] ELSE l.pos[1] END - {delay})"
            watermark = f"{floor_divide(time, str(grain))} * {grain}"
            until = f"CASE WHEN {right_later} THEN {a} + {bounds.high_us} ELSE {b} - {bounds.low_us} END"
            on.append(f"{watermark} <= {until}")
        later = f"CASE WHEN {right_later} THEN {at_right} ELSE {at_left} END"
        earlier = f"CASE WHEN {right_later} THEN {at_left} ELSE {at_right} END"
        later_row = f"CASE WHEN {right_later} THEN r.row_ ELSE l.row_ END"
        number = (
            f"dense_rank() OVER (PARTITION BY {right_later}, {later_row} ORDER BY {earlier}) - 1"
        )
        return select(
            named([*lefts, *rights]),
            plan,
            f"list_append({later}, {number})",
            source + " AND ".join(on),
        )


def column_names(plan: logical.Plan) -> list[str]:
    """Return the names of a plan's columns in SQL."""
    return [f"c{index}" for index in range(len(plan.schema))]


def named(items: Sequence[str], stem: str = "c") -> str:
    """Return a select list that names its items."""
    return ", ".join(f"{item} AS {stem}{index}" for index, item in enumerate(items))


def padded(position: str, length: int) -> str:
    """Return a position, filled up with -1."""
    return f"list_resize({position}, {length}, -1)"


def closing(plan: logical.WindowAggregate | logical.AssignSessions, column: int, end: str) -> str:
    """Return the time at which a window closes that ends with a column."""
    grain, delay = logical.grain_us(plan), behind(plan.input, column)
    return f"(({end} + {grain - 1}) // {grain} * {grain} + {delay})"


def select(items: str, plan: logical.Plan, position: str, source: str) -> str:
    """Return SELECT items FROM source, with the position where the plan has positions."""
    column = f", {position} AS pos" if logical.append_only(plan) else ""
    return f"SELECT {items}{column} FROM {source}"
