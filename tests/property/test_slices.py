"""Windows that are computed from slices release what their definition says, in all ways.

Cases are aggregates of overlapping windows, of HOP and CUMULATE, over tables whose rows come in disorder,
made from a seed.  The oracle adds each row to each of its windows, and so does the model; the engine runs in
several schedules, from snapshots, and with ticks in between.

Catches slices that contain a row for too many or too few windows, above all rows that are late for some of
their windows only; slices that enter twice or not at all after a load or a change of owners; running totals
from which nothing is taken out; rows of windows of which no slice is left.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler import logical
from fsql.compiler.aggregate_algebra import algebra_of
from fsql.compiler.analysis.slices import slicing_of
from fsql.compiler.explain.plan import logical_text
from fsql.compiler.expression import Call
from fsql.compiler.graph import CombineSlices, Map
from fsql.compiler.lowering import lower
from fsql.compiler.sqltypes import BOOLEAN
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.expressions import random_expression
from fsql.tests.property.plans import PlanMaker, random_rows, random_table
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts
from fsql.tests.seeds import seed_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable


SECOND: Final = 1_000_000
MUST_BE_MET: Final = (
    *("late rows", "something released", "row errors", "cumulative windows", "uneven slices"),
    *("conditions above windows", "runs from a snapshot", "changes"),
)


def slices_case(seed: int) -> tuple[Case, Counter[str]]:
    """Return a case of windows that are computed from slices, and what it has."""
    random = Random(f"slices {seed}")
    met: Counter[str] = Counter()
    tables = [_table(random, number) for number in range(random.choice((1, 1, 2)))]
    maker = PlanMaker(random, tables, risk=0.05)
    inserts = []
    for number in range(random.choice((1, 2))):
        query = None
        while query is None or slicing_of(query) is None:
            query = _query(random, maker, met)
        sink = logical.SinkTable(f"o{number}", query.schema, (), logical.Changes.APPEND, None)
        inserts.append(logical.Insert(sink, query))
    job = logical.Job(tuple(inserts))
    inputs = {
        table.ordinal: random_rows(
            random, random.choice((10, 20, 40)), awkward=random.choice((0.0, 0.1)), malformed=0.0
        )
        for table in job.tables
    }
    functions = [vertex.operation for vertex in lower(job).vertices]
    folds = [each for each in functions if isinstance(each, Map)]
    assert any(isinstance(each.function, CombineSlices) for each in folds)
    return Case(f"slices {seed}", logical_text(job), job, inputs), met


def _table(random: Random, ordinal: int) -> logical.Table:
    table = random_table(random, ordinal, event=True)
    while table.time is not logical.TimeKind.EVENT:
        table = random_table(random, ordinal, event=True)
    return replace(table, options=(("on_error", "stop"),))


def _query(random: Random, maker: PlanMaker, met: Counter[str]) -> logical.WindowAggregate | None:
    below = maker.plan(0)
    if random.random() < 0.3:
        below = logical.Filter(below, maker.expression(below.schema, BOOLEAN, 1))
    times = [index for index, column in enumerate(below.schema) if column.time_attribute]
    if not times:
        return None
    time = random.choice(times)
    slide = random.choice((300_000, 700_000, SECOND, 2 * SECOND))
    size = random.choice((2 * slide, 3 * slide, 5 * slide, slide + 200_000, 4 * slide + 100_000))
    offset = random.choice((0, 0, 300_000))
    rows: logical.Plan = below
    cumulative = size % slide == 0 and random.random() < 0.3
    if cumulative:
        rows = logical.AssignWindows(below, time, size, size, offset % size)
    windows = rows = logical.AssignWindows(rows, time, size, slide, offset % slide)
    width = len(windows.input.schema)
    end = width + 1
    if cumulative:
        whole_end = len(below.schema) + 1
        bounds = (maker.column(rows.schema, end), maker.column(rows.schema, whole_end))
        rows = logical.Filter(rows, Call(BOOLEAN, nullable=False, function="le", arguments=bounds))
    met["cumulative windows"] += cumulative
    met["uneven slices"] += size % slide > 0
    if random.random() < 0.4:
        # More often one that can fail than the maker's are.
        condition = random_expression(random, below.schema, BOOLEAN, 3)
        rows = logical.Filter(rows, condition)
        met["conditions above windows"] += 1
    if random.random() < 0.4:
        order = list(range(len(rows.schema)))
        random.shuffle(order)
        kept = tuple(maker.column(rows.schema, index) for index in order)
        end = order.index(end)
        width_of = {old: new for new, old in enumerate(order)}
        rows = logical.Project(rows, kept, maker.named(kept))
    else:
        width_of = {index: index for index in range(len(rows.schema))}
    schema = rows.schema
    others = [
        width_of[index] for index, column in enumerate(below.schema) if column.name in {"k", "s"}
    ]
    picked = random.sample(others, random.choice((0, 1, 1, 2))) if others else []
    more = [width_of[width + index] for index in (0, 2) if random.random() < 0.4]
    keys = tuple(maker.column(schema, index) for index in (*picked, end, *more))
    calls = tuple(
        call
        for _ in range(random.choice((1, 2, 3)))
        for call in maker.calls(schema, ordered=False)
        if algebra_of(call).merges
    )
    if not calls:
        return None
    names = maker.named(keys), maker.named(calls)
    return logical.WindowAggregate(rows, keys, names[0], calls, names[1], end, final=True)


def check_seed(seed: int, met: Counter[str]) -> None:
    """Run the case of a seed in all ways.

    Raises:
        AssertionError: one of them releases something else than the oracle.
    """
    case, own = slices_case(seed)
    met.update(own)
    random = Random(f"{seed} schedules")
    met.update(check(case))
    check_layouts(case, random, met)
    check_snapshots(case, case.expected, roots_of(case), random, met)


def check_seeds(seeds: Iterable[int], met: Counter[str]) -> None:
    """Run the cases of seeds in all ways; see `check_seed`."""
    for seed in seeds:
        check_seed(seed, met)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(16), ids=str)
def test_windows_of_slices_are_windows_of_rows(seeds: range) -> None:
    met: Counter[str] = Counter()
    check_seeds(seeds, met)
    assert [name for name in MUST_BE_MET if not met[name]] == [], met
