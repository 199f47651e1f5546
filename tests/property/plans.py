"""Random logical plans, without SQL text: every legal shape, any expression, over fixed tables.

`scripts` generates what people write; this generates what the plan allows, so also what no text means
today: any expression as a key, several operators between a window and its aggregate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.expression import AggregateCall, AggregateFunction, Call, ColumnRef, Literal
from fsql.compiler.functions.aggregates import aggregate_result
from fsql.compiler.logical import Changes, Plan, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    UBIGINT,
    array_of,
)
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.drawn_aggregates import DRAWN_FUNCTIONS, drawn_call
from fsql.tests.property.expressions import PAIR, RECORD, random_expression
from fsql.tests.property.time_order import drawn_over
from fsql.tests.property.values import NOON, SECOND, first_never_null, random_value
from fsql.tests.unit.model.plans import late_rows_counted

if TYPE_CHECKING:
    from random import Random

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

    Splits = list[list[tuple[Value, ...] | DeadLetter]]

KEY_TYPES: Final = (BIGINT, STRING, INT, BOOLEAN)
VALUE_TYPES: Final = (
    *(*KEY_TYPES * 2, DOUBLE, DOUBLE, TIMESTAMP, TIMESTAMP, PAIR, RECORD, array_of(PAIR), UBIGINT),
    *(array_of(BIGINT), array_of(BIGINT), array_of(STRING), array_of(STRING)),
)
COLUMNS: Final[Schema] = (
    Column("k", BIGINT),
    Column("s", STRING),
    Column("v", BIGINT),
    Column("d", DOUBLE),
    Column("a", array_of(BIGINT)),
    Column("at", TIMESTAMP, nullable=False, time_attribute=True),
)
AT: Final = 5


def random_table(random: Random, ordinal: int, *, event: bool) -> Table:
    """Return a table; all have the same columns."""
    options = (("on_error", random.choice(("stop", "reject"))),)
    if not event:
        columns = (*COLUMNS[:AT], Column("at", TIMESTAMP))
        return Table(f"t{ordinal}", ordinal, columns, options, TimeKind.OFFSET)
    if random.random() < 0.15:
        columns = (*COLUMNS[:AT], Column("at", TIMESTAMP))
        return Table(f"t{ordinal}", ordinal, columns, options, TimeKind.START)
    return Table(
        f"t{ordinal}",
        ordinal,
        COLUMNS,
        options,
        TimeKind.EVENT,
        ColumnRef(TIMESTAMP, nullable=False, index=AT),
        random.choice((0, 0, 2 * SECOND, 4_500_000)),
        random.choice((1_000, 1_000, 700_000)),
    )


def random_rows(random: Random, rows: int, *, awkward: float, malformed: float) -> Splits:
    """Return rows of a table in one to four splits; keys are few, event times meet, some are late."""
    splits: Splits = [[] for _ in range(random.choice((1, 2, 3, 4)))]
    clocks = [random.choice((0, 0, 6, -20)) for _ in splits]
    for _ in range(rows):
        number = random.randrange(len(splits))
        clocks[number] += random.choice((0, 0, 1, 3))
        late = random.choice((3, 10, 30)) if random.random() < 0.15 else 0
        row: tuple[Value, ...] | DeadLetter = (
            random.choice((1, 2, 2, 3, None)),
            random.choice(("a", "b", "b", None)),
            *(random_value(random, column.type, awkward=awkward) for column in COLUMNS[2:AT]),
            NOON + (clocks[number] - late) * SECOND // 2,
        )
        if random.random() < malformed:
            row = DeadLetter(len(splits[number]), 0, 0, random.choice((511, 513)), "", "", "")
        splits[number].append(row)
    return splits


@dataclass
class PlanMaker:
    """Makes plans over `tables`; scans are numbered in the order of the plan's leaves."""

    random: Random
    tables: list[Table]
    risk: float
    scan_numbers: int = 0
    names: int = field(default=0)

    def plan(self, depth: int) -> Plan:
        """Return a plan of at most `depth` operators above its scans."""
        if depth == 0:
            self.scan_numbers += 1
            return logical.Scan(self.random.choice(self.tables), self.scan_numbers - 1)
        make = self.random.choice(
            (
                *(self.filter, self.project, self.unnest, self.lateral_aggregate, self.over),
                *(self.aggregate, self.aggregate, self.window, self.window, self.window),
                *(self.join, self.join, self.join, self.union, self.rank),
            )
        )
        return make(depth)

    def expression(self, schema: Schema, type_: SqlType, depth: int = 2) -> Expression:
        """Return an expression, more often a column than not."""
        columns = [index for index, column in enumerate(schema) if column.type == type_]
        if columns and self.random.random() < 0.6:
            return self.column(schema, self.random.choice(columns))
        return random_expression(
            self.random, schema, type_, self.random.randint(0, depth), risk=self.risk
        )

    @staticmethod
    def column(schema: Schema, index: int) -> ColumnRef:
        """Return a reference to a column."""
        return ColumnRef(schema[index].type, schema[index].nullable, index)

    def name(self) -> str:
        """Return a name that is not in use."""
        self.names += 1
        return f"c{self.names}"

    def calls(
        self, schema: Schema, *, ordered: bool, single: bool = False
    ) -> tuple[AggregateCall, ...]:
        """Return one or two aggregates over a schema; `single` as OVER and LATERAL take them."""
        calls: list[AggregateCall] = []
        while len(calls) < self.random.choice((1, 2)):
            function = self.random.choice(DRAWN_FUNCTIONS)
            argument = None
            if function is not AggregateFunction.COUNT or self.random.random() < 0.5:
                argument = self.expression(schema, self.random.choice(VALUE_TYPES))
            type_ = aggregate_result(function, None if argument is None else argument.type)
            if type_ is not None and (type_.element is None or type_.element.element is None):
                drawn = self.random, function, argument, type_
                call = drawn_call(*drawn, retractable=not ordered, single=single)
                calls += [] if call is None else [call]
        return tuple(calls)

    def keys(self, schema: Schema, *counts: int) -> tuple[Expression, ...]:
        """Return expressions to group by."""
        count = self.random.choice(counts)
        choices = (*KEY_TYPES * 3, DOUBLE, array_of(DOUBLE), PAIR, RECORD, UBIGINT)
        types = [self.random.choice(choices) for _ in range(count)]
        return tuple(self.expression(schema, type_, 1) for type_ in types)

    def named(self, items: tuple[object, ...]) -> tuple[str, ...]:
        """Return a name for each item."""
        return tuple(self.name() for _ in items)

    # Operators.

    def filter(self, depth: int) -> Plan:
        """Filter by any condition, or by one that most rows fulfil."""
        below = self.plan(depth - 1)
        if self.random.random() < 0.4:
            return logical.Filter(below, self.expression(below.schema, BOOLEAN))
        type_ = self.random.choice((BIGINT, STRING))
        sides = self.expression(below.schema, type_), self.expression(below.schema, type_)
        differ = Call(BOOLEAN, nullable=True, function="ne", arguments=sides)
        return logical.Filter(below, differ)

    def project(self, depth: int) -> Plan:
        """Compute one to three columns; event times stay."""
        below = self.plan(depth - 1)
        kept = tuple(
            self.column(below.schema, index)
            for index, column in enumerate(below.schema)
            if column.time_attribute or self.random.random() < 0.5
        )
        types = [self.random.choice(VALUE_TYPES) for _ in range(self.random.choice((1, 2)))]
        made = tuple(self.expression(below.schema, type_) for type_ in types)
        if self.random.random() < 0.35:
            sides = self.expression(below.schema, BIGINT), self.expression(below.schema, BIGINT)
            made += (Call(BIGINT, nullable=True, function="divide", arguments=sides),)
        return logical.Project(below, kept + made, self.named(kept + made))

    def unnest(self, depth: int) -> Plan:
        """Unnest any array."""
        below = self.plan(depth - 1)
        array = self.expression(below.schema, array_of(self.random.choice((BIGINT, STRING, PAIR))))
        ordinality = self.name() if self.random.random() < 0.5 else None
        return logical.Unnest(below, array, self.name(), ordinality)

    def lateral_aggregate(self, depth: int) -> Plan:
        """Aggregate any array."""
        below = self.plan(depth - 1)
        element = self.random.choice((BIGINT, STRING))
        array = self.expression(below.schema, array_of(element))
        inner = (*below.schema, Column("element", element))
        ordinality = self.random.random() < 0.5
        if ordinality:
            inner = (*inner, Column("ordinal", BIGINT, nullable=False))
        keys, calls = self.keys(inner, 0, 1), self.calls(inner, ordered=True, single=True)
        predicate = self.expression(inner, BOOLEAN) if self.random.random() < 0.4 else None
        return logical.LateralAggregate(
            below, array, ordinality, predicate, keys, self.named(keys), calls, self.named(calls)
        )

    def aggregate(self, depth: int) -> Plan:
        """Group by few keys."""
        below = self.plan(depth - 1)
        keys = self.keys(below.schema, 0, 1, 1, 2)
        calls = self.calls(below.schema, ordered=logical.append_only(below))
        return logical.Aggregate(below, keys, self.named(keys), calls, self.named(calls))

    def window(self, depth: int) -> Plan:
        """Assign windows, perhaps filter, and aggregate them; without event time, just aggregate."""
        below = self.plan(depth - 1)
        assigned = self.assigned(below)
        if assigned is None:
            keys, calls = self.keys(below.schema, 0, 1), self.calls(below.schema, ordered=False)
            return logical.Aggregate(below, keys, self.named(keys), calls, self.named(calls))
        if logical.append_only(below) and self.random.random() < 0.3:
            return self.sessions(below, assigned.time_column)
        windows: Plan = assigned
        end = len(windows.schema) - 2
        if self.random.random() < 0.2:
            windows = logical.Filter(windows, self.expression(windows.schema, BOOLEAN))
        keys = (*self.keys(windows.schema, 0, 1), self.column(windows.schema, end))
        if self.random.random() < 0.5:
            keys = (*keys, self.column(windows.schema, end + 1))
        calls = self.calls(windows.schema, ordered=logical.append_only(windows))
        final = self.random.random() < 0.7
        return logical.WindowAggregate(
            windows, keys, self.named(keys), calls, self.named(calls), end, final
        )

    def sessions(self, below: Plan, time: int) -> Plan:
        """Assign sessions, and perhaps aggregate them."""
        size = self.random.choice((500_000, SECOND, 3 * SECOND))
        gap = Literal(INTERVAL, nullable=False, value=size)
        columns = tuple(self.column(below.schema, index) for index in range(len(below.schema)))
        end = Call(TIMESTAMP, nullable=False, function="add", arguments=(columns[time], gap))
        ended = logical.Project(below, (*columns, end), self.named((*columns, end)))
        keys = [i for i, column in enumerate(below.schema) if not column.time_attribute]
        partition = tuple(columns[i] for i in self.random.sample(keys, min(len(keys), 1)))
        order = first_never_null(below.schema, BIGINT) if size == SECOND else None
        rows = logical.AssignSessions(ended, partition, time, len(columns), order)
        if self.random.random() < 0.4:
            return rows
        ends = len(rows.schema) - 2
        keys_of_group = (*partition, self.column(rows.schema, ends))
        calls = self.calls(rows.schema, ordered=True)
        names = self.named(keys_of_group), self.named(calls)
        return logical.WindowAggregate(
            rows, keys_of_group, names[0], calls, names[1], ends, final=True
        )

    def over(self, depth: int) -> Plan:
        """Running aggregates, where the input stays."""
        below = self.plan(depth - 1)
        if not logical.append_only(below):
            return below
        return drawn_over(
            *(self.random, below, self.keys(below.schema, 0, 1)),
            lambda schema, bounded: self.calls(schema, ordered=not bounded, single=True),
            self.named,
        )

    def assigned(self, below: Plan) -> logical.AssignWindows | None:
        """Assign windows; None without event time."""
        times = [index for index, column in enumerate(below.schema) if column.time_attribute]
        if not times:
            return None
        size = self.random.choice((1, 2, 5, 10)) * SECOND
        slide = self.random.choice((size, size, 700_000, 2 * SECOND, 3 * SECOND))
        offset = self.random.choice((0, 0, 300_000))
        return logical.AssignWindows(below, self.random.choice(times), size, slide, offset)

    def rank(self, depth: int) -> Plan:
        """Ranks by any keys and order, of windows where the input has them, all or those in some bounds."""
        plan = self.plan(depth - 1)
        below = (self.assigned(plan) if self.random.random() < 0.4 else None) or plan
        keys, end = self.keys(below.schema, 0, 1), None
        if isinstance(below, logical.AssignWindows):
            end = len(below.schema) - 2
            keys = (*keys, self.column(below.schema, end))
        order = tuple(
            logical.OrderKey(key, self.random.random() < 0.5, self.random.random() < 0.5)
            for key in self.keys(below.schema, 0, 2)
        )
        skipped = self.random.choice((0, 0, 0, 1))
        return logical.Rank(
            below,
            keys,
            order,
            self.random.choice(list(logical.RankFunction)),
            self.random.choice(("rank", None)),
            skipped,
            self.random.choice((None, skipped + 1, skipped + 2, 4)),
            end,
            end is not None and self.random.random() < 0.7,
        )

    def join(self, depth: int) -> Plan:
        """Join two plans, within a time range where both sides have event time."""
        left, right = (
            self.plan(self.random.randrange(depth)),
            self.plan(self.random.randrange(depth)),
        )
        sides = left.schema, right.schema
        types = [
            self.random.choice((BIGINT, BIGINT, BIGINT, STRING, DOUBLE, array_of(DOUBLE), PAIR))
        ]
        keys = tuple(
            tuple(self.expression(schema, type_, 1) for type_ in types) for schema in sides
        )
        times = [
            [index for index, column in enumerate(schema) if column.time_attribute]
            for schema in sides
        ]
        bounds = None
        append_only = logical.append_only(left) and logical.append_only(right)
        if all(times) and append_only and self.random.random() < 0.6:
            low = self.random.choice((-3, -1, 0, 1)) * SECOND
            bounds = logical.TimeRange(
                self.random.choice(times[0]),
                self.random.choice(times[1]),
                low,
                low + self.random.choice((0, 1, 5)) * SECOND,
            )
            if self.random.random() < 0.5:
                left, right = late_rows_counted(left, right, bounds)
        return logical.Join(left, right, keys[0], keys[1], bounds)

    def union(self, depth: int) -> Plan:
        """Unite two plans by their first columns of a type; event time stays where both have it."""
        sides = [self.plan(self.random.randrange(depth)) for _ in range(2)]
        types = [self.random.choice(VALUE_TYPES) for _ in range(self.random.choice((1, 2, 3)))]
        times = [
            [index for index, column in enumerate(side.schema) if column.time_attribute]
            for side in sides
        ]
        branches = []
        for side, indexes in zip(sides, times, strict=True):
            made = tuple(self.expression(side.schema, type_) for type_ in types)
            if all(times):
                made = (self.column(side.schema, self.random.choice(indexes)), *made)
            branches.append(logical.Project(side, made, self.named(made)))
        return logical.Union(tuple(branches))


def random_job(random: Random, tables: list[Table], *, risk: float) -> logical.Job:
    """Return a job of one or two INSERTs over `tables`."""
    inserts = []
    for number in range(random.choice((1, 1, 2))):
        query = PlanMaker(random, tables, risk).plan(random.choice((1, 2, 3, 3, 4)))
        keys = derived_keys(query)
        key = keys[0] if keys else None
        changes = [Changes.RETRACT]
        if logical.append_only(query):
            changes += [Changes.APPEND, Changes.APPEND]
        elif key is not None:
            changes.append(Changes.UPSERT)
        columns = tuple(Column(f"c{i}", column.type) for i, column in enumerate(query.schema))
        sink = logical.SinkTable(f"sink{number}", columns, (), random.choice(changes), key)
        inserts.append(logical.Insert(sink, query))
    return logical.Job(tuple(inserts))


@dataclass(frozen=True)
class PlanCase:
    """A job and its input, by table ordinal."""

    job: logical.Job
    inputs: dict[int, Splits]


def random_plan_case(random: Random) -> PlanCase:
    """Return a job with input."""
    event = random.random() < 0.75
    tables = [random_table(random, n, event=event) for n in range(random.choice((1, 2, 2, 3)))]
    job = random_job(random, tables, risk=random.choice((0.0, 0.2, 0.4)))
    awkward, malformed = random.choice((0.0, 0.1)), random.choice((0.0, 0.05))
    rows = random.choice((5, 10, 20, 30))
    inputs = {
        table.ordinal: random_rows(random, rows, awkward=awkward, malformed=malformed)
        for table in job.tables
    }
    return PlanCase(job, inputs)
