"""Random logical plans, as the binder might make them, with the input of their tables.

A plan is a random operator over random plans; predicates like the columns that rules look for (keys,
passed-on columns), in conjunctions of which some can fail.  Every plan is legal (`verify_logical`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.functions.aggregates import aggregate_result
from fsql.compiler.rules.prune_columns.demand import LATE_OUTPUT
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    SqlType,
    array_of,
)
from fsql.tests.property.drawn_aggregates import DRAWN_FUNCTIONS, drawn_call, whole_or_slice
from fsql.tests.property.expressions import in_set, random_expression
from fsql.tests.property.time_order import drawn_over, event_times
from fsql.tests.property.values import NOON, SECOND, first_never_null, random_value
from fsql.tests.unit.model.plans import late_rows_counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema

COLUMNS: Final = (
    Column("k", BIGINT),
    Column("n", BIGINT, nullable=False),
    Column("d", DOUBLE),
    Column("s", STRING),
    Column("at", TIMESTAMP, nullable=False, time_attribute=True),
    Column("tags", array_of(STRING)),
)
TABLES: Final = tuple(
    logical.Table(
        name,
        ordinal,
        COLUMNS,
        (),
        logical.TimeKind.EVENT,
        ColumnRef(TIMESTAMP, nullable=False, index=4),
        delay_us=delay_us,
    )
    for ordinal, (name, delay_us) in enumerate((("left", 2 * SECOND), ("right", 0)))
)
COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclass
class Plans:
    """Random plans of one INSERT; `risk` is how often an expression is one that may well fail."""

    random: Random
    risk: float
    scan_numbers: int = field(default=0)

    def plan(self, depth: int) -> logical.Plan:
        """Return a plan of at most `depth` operators above each scan, where filters do not count."""
        if depth == 0:
            self.scan_numbers += 1
            return logical.Scan(self.random.choice(TABLES), self.scan_numbers - 1)
        makers = (
            *(self.project, self.unnest, self.lateral, self.windows, self.windows, self.group),
            *(self.group, self.over, self.join, self.union, self.rank),
        )
        plan = self.random.choice(makers)(depth - 1)
        while self.random.random() < 0.5:
            plan = logical.Filter(plan, self.predicate(plan.schema))
        return self.project_of(plan) if self.random.random() < 0.3 else plan

    # Operators over the plans that they make.

    def project(self, depth: int) -> logical.Plan:
        return self.project_of(self.plan(depth))

    def project_of(self, below: logical.Plan) -> logical.Plan:
        picked = self.random.sample(range(len(below.schema)), k=min(4, len(below.schema)))
        columns = [self.column(below.schema, i) for i in picked[: self.random.randint(1, 4)]]
        made = [whole_or_slice(self.random, each) for each in columns]
        made += [self.expression(below.schema, BIGINT) for _ in range(self.random.randint(0, 2))]
        self.random.shuffle(made)
        return logical.Project(below, tuple(made), _names("p", made))

    def unnest(self, depth: int) -> logical.Plan:
        below = self.plan(depth)
        ordinality = self.random.choice((None, "ordinal"))
        return logical.Unnest(below, self.array(below.schema), "tag", ordinality)

    def lateral(self, depth: int) -> logical.Plan:
        below = self.plan(depth)
        inside = (
            *below.schema,
            Column("element", STRING),
            Column("ordinal", BIGINT, nullable=False),
        )
        keys = (self.column(inside, len(below.schema)),) if self.random.random() < 0.6 else ()
        calls = tuple(self.aggregate(inside, grouped=bool(keys), single=True) for _ in range(2))
        predicate = self.predicate(inside) if self.random.random() < 0.4 else None
        return logical.LateralAggregate(
            below,
            self.array(below.schema),
            ordinality=True,
            predicate=predicate,
            keys=keys,
            key_names=_names("lk", keys),
            aggregates=calls,
            aggregate_names=_names("la", calls),
        )

    def windows(self, depth: int) -> logical.Plan:
        below = self.plan(depth)
        times = event_times(below)
        if not times:
            return below
        if logical.append_only(below) and self.random.random() < 0.3:
            return self.sessions(below, self.random.choice(times))
        size, slide = self.random.choice(((4, 4), (4, 2), (2, 3), (5, 2)))
        windowed = logical.AssignWindows(
            below, self.random.choice(times), size * SECOND, slide * SECOND
        )
        if self.random.random() < 0.3:
            return windowed
        rows: logical.Plan = windowed
        if self.random.random() < 0.5:
            rows = logical.Filter(rows, self.predicate(rows.schema))
        end = len(below.schema) + 1
        keys = (self.column(windowed.schema, end), *self.keys(windowed.schema))
        calls = tuple(
            self.aggregate(windowed.schema, append=logical.append_only(windowed)) for _ in range(2)
        )
        final = self.random.random() < 0.8
        names = _names("w", keys), _names("wa", calls)
        return logical.WindowAggregate(rows, keys, names[0], calls, names[1], end, final)

    def sessions(self, below: logical.Plan, time: int) -> logical.Plan:
        """Return the rows of sessions, or their groups."""
        size = self.random.choice((1, 2, 3)) * SECOND
        gap = Literal(INTERVAL, nullable=False, value=size)
        width = len(below.schema)
        columns = [self.column(below.schema, index) for index in range(width)]
        end = Call(TIMESTAMP, nullable=False, function="add", arguments=(columns[time], gap))
        ended = logical.Project(below, (*columns, end), (*_names("s", columns), "own_end"))
        keys = tuple(columns[index] for index in self.random.sample(range(width), k=min(width, 1)))
        partition = keys if self.random.random() < 0.7 else ()
        order = first_never_null(below.schema, BIGINT) if size == SECOND else None
        rows = logical.AssignSessions(ended, partition, time, width, order)
        if self.random.random() < 0.4:
            return rows
        bounds = [self.column(rows.schema, len(rows.schema) + place) for place in (-2, -3)]
        keys = (*bounds, *partition)
        calls = tuple(self.aggregate(rows.schema, append=True) for _ in range(2))
        names = _names("w", keys), _names("wa", calls)
        ends = len(rows.schema) - 2
        return logical.WindowAggregate(rows, keys, names[0], calls, names[1], ends, final=True)

    def group(self, depth: int) -> logical.Plan:
        below = self.plan(depth)
        keys = self.keys(below.schema)
        append = logical.append_only(below)
        calls = tuple(self.aggregate(below.schema, append=append) for _ in range(2))
        return logical.Aggregate(below, keys, _names("g", keys), calls, _names("ga", calls))

    def maybe_tied(self, depth: int) -> logical.Plan:
        """Return a plan whose rows more often than elsewhere share positions: closed windows."""
        if depth == 0 or self.random.random() < 0.5:
            return self.plan(depth)
        windowed = self.windows(0)
        return self.project_of(windowed) if self.random.random() < 0.3 else windowed

    def over(self, depth: int) -> logical.Plan:
        below = self.maybe_tied(depth)
        if not logical.append_only(below):
            return below
        make = partial(self.aggregate, grouped=False, single=True)
        return drawn_over(
            *(self.random, below, self.keys(below.schema)),
            lambda schema, bounded: tuple(
                make(schema, append=not bounded) for _ in range(self.random.choice((1, 2)))
            ),
            partial(_names, "o"),
        )

    def rank(self, depth: int) -> logical.Plan:
        below = self.maybe_tied(depth)
        order = tuple(
            logical.OrderKey(key, self.random.random() < 0.5, self.random.random() < 0.5)
            for key in self.keys(below.schema)
        )
        function = self.random.choice([*logical.RankFunction])
        limit = self.random.choice((None, 2))
        return logical.Rank(below, self.keys(below.schema), order, function, "r", 0, limit)

    def join(self, depth: int) -> logical.Plan:
        left, right = self.maybe_tied(depth), self.maybe_tied(self.random.randint(0, depth))
        kind = self.random.choice((BIGINT, BIGINT, DOUBLE, STRING))
        pairs = [
            (i, j)
            for i, one in enumerate(left.schema)
            for j, other in enumerate(right.schema)
            if one.type == other.type == kind
        ]
        if not pairs:
            return left
        chosen = self.random.sample(pairs, k=min(len(pairs), self.random.choice((1, 1, 2))))
        bound = None
        times, others = event_times(left), event_times(right)
        append = logical.append_only(left) and logical.append_only(right)
        if times and others and append and self.random.random() < 0.5:
            bound = logical.TimeRange(
                self.random.choice(times), self.random.choice(others), -2 * SECOND, 3 * SECOND
            )
            if self.random.random() < 0.5:
                left, right = late_rows_counted(left, right, bound)
        left_keys: list[Expression] = [self.column(left.schema, i) for i, _ in chosen]
        right_keys: list[Expression] = [self.column(right.schema, j) for _, j in chosen]
        if kind == BIGINT and self.random.random() < 2 * self.risk:
            left_keys[0] = self.fallible_expression(left.schema, BIGINT)
        return logical.Join(left, right, tuple(left_keys), tuple(right_keys), bound)

    def union(self, depth: int) -> logical.Plan:
        branches = [self.plan(depth), self.plan(self.random.randint(0, depth))]
        kinds = (BIGINT, STRING)
        return logical.Union(
            tuple(
                logical.Project(branch, tuple(made), _names("u", made))
                for branch in branches
                for made in [[self.expression(branch.schema, kind) for kind in kinds]]
            )
        )

    # Expressions over a schema.

    def column(self, schema: Schema, index: int) -> ColumnRef:
        return ColumnRef(schema[index].type, schema[index].nullable, index)

    def keys(self, schema: Schema) -> tuple[Expression, ...]:
        kinds = (DOUBLE,) if self.random.random() < 0.3 else (BIGINT, STRING, DOUBLE, TIMESTAMP)
        indexes = [i for i, column in enumerate(schema) if column.type in kinds]
        picked = self.random.sample(indexes, k=min(len(indexes), self.random.choice((0, 1, 1, 2))))
        keys: list[Expression] = [self.column(schema, index) for index in picked]
        if self.random.random() < self.risk:
            keys.append(self.fallible_expression(schema, BIGINT))
        return tuple(keys)

    def array(self, schema: Schema) -> Expression:
        return self.expression(schema, array_of(STRING))

    def aggregate(
        self, schema: Schema, *, append: bool = True, grouped: bool = True, single: bool = False
    ) -> AggregateCall:
        function = self.random.choice(DRAWN_FUNCTIONS)
        argument_type = self.random.choice((BIGINT, BIGINT, DOUBLE))
        argument: Expression | None = self.expression(schema, argument_type)
        if function is AggregateFunction.COUNT and self.random.random() < 0.7:
            argument = None
        kind = aggregate_result(function, None if argument is None else argument.type)
        drawn = self.random, function, argument, kind
        call = drawn_call(*drawn, retractable=not append, single=single)
        if call is None:
            return self.aggregate(schema, append=append, grouped=grouped, single=single)
        sure = {AggregateFunction.COUNT} | ({AggregateFunction.ARRAY_AGG} if grouped else set())
        return replace(call, nullable=function not in sure)

    def expression(self, schema: Schema, kind: SqlType) -> Expression:
        """Return a column where there is one, something that may fail, or something harmless."""
        columns = [i for i, column in enumerate(schema) if column.type == kind]
        if self.random.random() < self.risk:
            return self.fallible_expression(schema, kind)
        if columns and self.random.random() < 0.8:
            return self.column(schema, self.random.choice(columns))
        value = random_value(self.random, kind, awkward=0.1)
        return Literal(kind, value is None, value)

    def fallible_expression(self, schema: Schema, kind: SqlType) -> Expression:
        """Return an expression that fails on some of the rows that there are, or any whatever."""
        whole = [i for i, column in enumerate(schema) if column.type == BIGINT]
        if not whole or kind not in {BIGINT, BOOLEAN} or self.random.random() < 0.3:
            return _exact(random_expression(self.random, schema, kind, 2), schema)
        column = self.column(schema, self.random.choice(whole))
        one, other = (_whole(self.random.choice((0, 1, 2, 3))) for _ in range(2))
        function = self.random.choice(("divide", "modulo"))
        quotient = _call(function, BIGINT, other, _call("subtract", BIGINT, column, one))
        return quotient if kind == BIGINT else _call("ge", BOOLEAN, quotient, _whole(0))

    def predicate(self, schema: Schema) -> Expression:
        """Return one to three tests in a conjunction, which leans to either side."""
        tests = [self.test(schema) for _ in range(self.random.choice((1, 1, 2, 3)))]
        while len(tests) > 1:
            place = self.random.randrange(len(tests) - 1)
            tests[place : place + 2] = [_call("and", BOOLEAN, *tests[place : place + 2])]
        return tests[0]

    def test(self, schema: Schema) -> Expression:
        """Return a comparison that holds rather often, a test for NULL, or anything BOOLEAN."""
        if self.random.random() < self.risk:
            return self.fallible_expression(schema, BOOLEAN)
        column = self.column(schema, self.random.randrange(len(schema)))
        if column.type == DOUBLE and self.random.random() < 0.5:
            # Only so is -0.0 distinguished from 0.0, which it equals.
            text = Literal(STRING, nullable=False, value="-0.0")
            return _call("ne", BOOLEAN, Cast(STRING, column.nullable, column), text)
        if column.type.element is not None or self.random.random() < 0.15:
            return _call(self.random.choice(("is_null", "is_not_null")), BOOLEAN, column)
        if not column.type.parts and self.random.random() < 0.15:
            return in_set(self.random, column, 3)
        value = random_value(self.random, column.type, awkward=0.05)
        literal = Literal(column.type, value is None, value)
        test = _call(self.random.choice(COMPARISONS), BOOLEAN, column, literal)
        other = _call(self.random.choice(COMPARISONS), BOOLEAN, column, literal)
        if self.random.random() < 0.5:
            test = _call("or", BOOLEAN, test, other)
        return _call("not", BOOLEAN, test) if self.random.random() < 0.1 else test


def _whole(value: int) -> Literal:
    return Literal(BIGINT, nullable=False, value=value)


def _call(function: str, kind: SqlType, *arguments: Expression) -> Call:
    nullable = function not in {"is_null", "is_not_null"} and any(a.nullable for a in arguments)
    return Call(kind, nullable, function, arguments)


def _exact(expression: Expression, schema: Schema) -> Expression:
    """Return `expression` with its NULLs as the binder would have them."""
    return with_nullability(expression, lambda index: schema[index].nullable)


def _names(prefix: str, items: Sequence[object]) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(len(items)))


def random_job(random: Random) -> logical.Job:
    """Return a job of one INSERT, or of two that read parts of the same plan."""
    plans = Plans(random, risk=random.choice((0.0, 0.05, 0.2)))
    queries = [plans.plan(random.randint(1, 3))]
    if random.random() < 0.3:
        part = random.choice(logical.operators(queries[0]))
        queries.append(logical.Filter(part, plans.predicate(part.schema)))
    options = random.choice(((), (), ((LATE_OUTPUT, "late.jsonl"),)))
    return logical.Job(
        tuple(_insert(query, number, options) for number, query in enumerate(queries))
    )


def _insert(
    query: logical.Plan, number: int, options: tuple[tuple[str, str], ...]
) -> logical.Insert:
    append = logical.append_only(query)
    changes = logical.Changes.APPEND if append else logical.Changes.RETRACT
    keys = derived_keys(query)
    key = None if append or not keys else keys[0]
    return logical.Insert(
        logical.SinkTable(f"out{number}", query.schema, options, changes, key), query
    )


def random_inputs(random: Random) -> dict[int, list[list[tuple[Value, ...]]]]:
    """Return two splits of a few rows for each table; times rise, with some late ones."""
    return {table.ordinal: [_split(random) for _ in range(2)] for table in TABLES}


def _split(random: Random) -> list[tuple[Value, ...]]:
    rows: list[tuple[Value, ...]] = []
    time = NOON
    for _ in range(random.randint(2, 9)):
        time += random.choice((0, 0, 1, 1, 4)) * SECOND
        at = time - random.choice((0, 0, 0, 6)) * SECOND
        if random.random() < 0.02:
            at = -62_135_596_800_000_000
        values = [random_value(random, column.type, awkward=0.15) for column in COLUMNS]
        values[0] = random.choice((1, 2, 2, 3, None))
        values[1] = random.choice((0, 1, 2, 3))
        values[2] = random.choice((0.0, -0.0, 1.5, values[2]))
        values[4] = at
        rows.append(tuple(values))
    return rows
