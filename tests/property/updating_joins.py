"""Random joins of updating inputs: aggregates of few keys, some of them NULL, two to four in a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.logical import Changes, JoinKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BOOLEAN
from fsql.tests.property.plans import PlanCase, PlanMaker, random_rows, random_table

if TYPE_CHECKING:
    from random import Random

    from fsql.compiler.logical import Plan


def random_updating_join_case(random: Random) -> PlanCase:
    """Return a job with input."""
    tables = [random_table(random, number, event=False) for number in range(random.choice((1, 2)))]
    query = _Maker(random, tables, risk=0.0).chain()
    columns = tuple(Column(f"c{i}", column.type) for i, column in enumerate(query.schema))
    keys = derived_keys(query)
    key = keys[0] if keys else None
    changes = Changes.UPSERT if key is not None and random.random() < 0.5 else Changes.RETRACT
    job = logical.Job((logical.Insert(logical.SinkTable("s", columns, (), changes, key), query),))
    rows = random.choice((5, 10, 15))
    inputs = {
        table.ordinal: random_rows(random, rows, awkward=0.1, malformed=0.0) for table in job.tables
    }
    return PlanCase(job, inputs)


def random_join_once_case(random: Random) -> PlanCase:
    """Return a job that joins append-only rows once with the rows of an updating query, or of a table."""
    event = random.random() < 0.5
    tables = [random_table(random, number, event=event) for number in range(random.choice((1, 2)))]
    query = _Maker(random, tables, risk=random.choice((0.0, 0.2))).once()
    columns = tuple(Column(f"c{i}", column.type) for i, column in enumerate(query.schema))
    changes = Changes.APPEND if logical.append_only(query) else Changes.RETRACT
    job = logical.Job((logical.Insert(logical.SinkTable("s", columns, (), changes, None), query),))
    rows = random.choice((5, 10, 15))
    inputs = {
        table.ordinal: random_rows(random, rows, awkward=0.1, malformed=0.0) for table in job.tables
    }
    return PlanCase(job, inputs)


class _Maker(PlanMaker):
    def once(self) -> Plan:
        """Return such a join, perhaps with an operator over it that needs append-only rows."""
        left, right = self.plan(self.random.choice((0, 0, 1, 2))), self.side()
        if not logical.append_only(left):
            left = self.plan(0)
        if self.random.random() < 0.2:
            right = self.joined(right, self.side())
        paired = self.joined(left, right)
        kind = self.random.choice((JoinKind.INNER, JoinKind.LEFT))
        both = (*left.schema, *right.schema)
        condition = self.expression(both, BOOLEAN, 2) if self.random.random() < 0.5 else None
        joined = replace(paired, kind=kind, once=True, condition=condition)
        if self.random.random() < 0.4:
            return joined
        keys, calls = self.keys(joined.schema, 0, 1), self.calls(joined.schema, ordered=True)
        if self.random.random() < 0.5:
            return logical.Aggregate(joined, keys, self.named(keys), calls, self.named(calls))
        frames = tuple(logical.OverCall(call, logical.FrameEnd.CURRENT_ROW) for call in calls)
        return logical.Over(joined, keys, frames, self.named(calls))

    def chain(self) -> Plan:
        joined = self.side()
        for _ in range(self.random.choice((1, 1, 2, 3))):
            joined = self.joined(joined, self.side())
        if self.random.random() < 0.3:
            keys, calls = self.keys(joined.schema, 0, 1), self.calls(joined.schema, ordered=False)
            return logical.Aggregate(joined, keys, self.named(keys), calls, self.named(calls))
        return joined

    def side(self) -> Plan:
        """Return an aggregate by columns that are few and may be NULL; rarely a table."""
        scan = self.plan(0)
        if self.random.random() < 0.1:
            return scan
        keys = tuple(
            self.column(scan.schema, index)
            for index in self.random.choice(((0,), (0,), (1,), (0, 1), ()))
        )
        calls = self.calls(scan.schema, ordered=self.random.random() < 0.5)
        return logical.Aggregate(scan, keys, self.named(keys), calls, self.named(calls))

    def joined(self, left: Plan, right: Plan) -> logical.Join:
        """Join by columns of equal types, the first of each side by preference; else by expressions."""
        pairs = [
            (i, j)
            for i, one in enumerate(left.schema)
            for j, other in enumerate(right.schema)
            if one.type == other.type
        ]
        if pairs and self.random.random() < 0.9:
            chosen = [pairs[0]] if self.random.random() < 0.6 else self.random.sample(pairs, 1)
            if len(pairs) > 1 and self.random.random() < 0.2:
                chosen = self.random.sample(pairs, 2)
            left_keys = tuple(self.column(left.schema, i) for i, _ in chosen)
            right_keys = tuple(self.column(right.schema, j) for _, j in chosen)
            return logical.Join(left, right, left_keys, right_keys, None, self.kind())
        (key,) = self.keys(left.schema, 1)
        other = self.expression(right.schema, key.type, 1)
        return logical.Join(left, right, (key,), (other,), None, self.kind())

    def kind(self) -> JoinKind:
        """Return an inner join as often as any other."""
        return self.random.choice((JoinKind.INNER,) * 5 + tuple(JoinKind)[1:])
