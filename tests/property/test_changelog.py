"""TO_CHANGELOG of drawn queries, on every way: the changes that a sink would be given, as rows.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from fsql.compiler import logical
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.logical import FrameEnd, OverCall
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT
from fsql.compiler.verify.logical import verify_logical
from fsql.tests.property.cases import Case, case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import seed_ranges

_COUNT = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def retracting(insert: logical.Insert) -> logical.Insert:
    """Return the INSERT into a table that is given all changes."""
    sink = replace(insert.sink, changes=logical.Changes.RETRACT)
    return replace(insert, sink=sink)


def as_rows(insert: logical.Insert) -> logical.Insert:
    """Return an INSERT of the changes as rows; their kinds are the last column."""
    query = logical.ToChangelog(insert.query, insert.sink.key)
    return _into_log(insert, query)


def _into_log(insert: logical.Insert, query: logical.Plan) -> logical.Insert:
    names = [*(column.name for column in insert.sink.columns), "kind", "n"]
    columns = tuple(
        Column(name, column.type, nullable=column.nullable)
        for name, column in zip(names, query.schema, strict=False)
    )
    sink = replace(insert.sink, columns=columns, changes=logical.Changes.APPEND, key=None)
    return logical.Insert(sink, query)


def numbered(insert: logical.Insert) -> logical.Insert:
    """Return an INSERT of the changes, each with its number among those of its kind."""
    changes = logical.ToChangelog(insert.query, insert.sink.key)
    place = len(changes.schema) - 1
    kind = ColumnRef(changes.schema[place].type, nullable=False, index=place)
    call = OverCall(_COUNT, FrameEnd.CURRENT_ROW)
    return _into_log(insert, logical.Over(changes, (kind,), (call,), ("n",)))


def counted(insert: logical.Insert) -> logical.Insert:
    """Return an INSERT of the changes of how many changes of each kind there are, as rows."""
    changes = logical.ToChangelog(insert.query, insert.sink.key)
    place = len(changes.schema) - 1
    kind = ColumnRef(changes.schema[place].type, nullable=False, index=place)
    counts = logical.Aggregate(changes, (kind,), ("kind",), (_COUNT,), ("count",))
    again = logical.ToChangelog(counts, (0,))
    columns = tuple(replace(column, time_attribute=False) for column in again.schema)
    sink = replace(insert.sink, columns=columns, changes=logical.Changes.APPEND, key=None)
    return logical.Insert(sink, again)


def updating_case(kind: str, seed: int) -> Case | None:
    """Return a drawn case of INSERTs of changes; None if the binder refuses it, or it has none."""
    try:
        case = case_of(kind, seed)
    except FsqlError:
        return None
    inserts = [retracting(each) for each in case.job.inserts if not logical.append_only(each.query)]
    return with_inserts(case, inserts) if inserts else None


def with_inserts(case: Case, inserts: list[logical.Insert]) -> Case:
    """Return the case with other INSERTs."""
    job = logical.Job(tuple(inserts))
    verify_logical(job)
    return replace(case, job=job)


def check_rows(case: Case) -> int:
    """Check that the rows are what a sink would be given, in this order; return how many there are."""
    given = by_oracle(case.job, case.inputs)
    made = by_oracle(
        with_inserts(case, [as_rows(each) for each in case.job.inserts]).job, case.inputs
    )
    assert made.error == given.error
    for changes, rows in zip(given.released, made.released, strict=True):
        expected = [(root, [*json.loads(line).values()]) for root, line in changes]
        actual = [(root, [*json.loads(line).values()]) for root, line in rows]
        assert actual == [(root, [*values, kind]) for root, (kind, *values) in expected], case
    return sum(map(len, given.released))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(6), ids=str)
@pytest.mark.parametrize("kind", ["script", "plan", "updating-join"])
def test_changes_are_rows_on_every_way(kind: str, seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        case = updating_case(kind, seed)
        if case is None:
            continue
        met["changes"] += check_rows(case)
        make = (as_rows, numbered, counted)[seed % 3]
        made = with_inserts(case, [make(each) for each in case.job.inserts])
        met += check(made, schedules=2)
        random = Random(f"{case.name} changelog")
        if seed % 2:
            check_layouts(made, random, met)
        else:
            expected = by_oracle(made.job, made.inputs)
            check_snapshots(made, expected, roots_of(made), random, met)
    assert met["changes"], met
    assert met["rows restored"], met
