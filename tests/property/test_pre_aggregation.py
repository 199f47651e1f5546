"""Windows over hot keys release the same, whether their rows are pre-aggregated or not.

Cases are window aggregates whose rows may be pre-aggregated, over tables with few keys, made from a seed.
They run in several schedules, and with ticks between which choose it or not; snapshots that are taken under
one choice are restored under another.  The oracle says what each run has to release.

Catches rows that stand for others with another count, sum, least or greatest value; rows of other keys among
them; rows at the wrong position, or on both sides of the position of a snapshot or a tick.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import pytest

from fsql.compiler import logical
from fsql.compiler.explain.plan import logical_text
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.functions.aggregates import aggregate_result
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, TIMESTAMP, array_of
from fsql.runtime.batch import Root
from fsql.runtime.dataflow.exchange import Exchange
from fsql.runtime.kernels.aggregate import pre_aggregation
from fsql.runtime.kernels.aggregate.pre_aggregation import PreAggregation
from fsql.runtime.order import below
from fsql.tests.property.cases import Case
from fsql.tests.property.check import random_schedule
from fsql.tests.property.plans import PlanMaker, random_rows, random_table
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts
from fsql.tests.property.ways import by_engine, by_oracle
from fsql.tests.seeds import seed_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Bools
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.aggregate.pre_aggregation import Hashes, PreAggregated

SUMS: Final = (AggregateFunction.SUM, AggregateFunction.AVG)
EXTREMES: Final = (AggregateFunction.MIN, AggregateFunction.MAX)
COMPARED: Final = (BIGINT, DOUBLE, BOOLEAN, TIMESTAMP)
MUST_BE_MET: Final = (
    *(
        "rows replaced",
        "batches divided",
        "late rows",
        "something released",
        "row errors",
        "runs that repair",
    ),
    *("runs that hold", "changes", "refused", "runs from a snapshot", "pre-aggregations drawn"),
)


def window_case(seed: int) -> Case:
    """Return a case whose rows may be pre-aggregated."""
    random = Random(f"hot keys {seed}")
    tables = [_table(random, number) for number in range(random.choice((1, 2)))]
    maker = PlanMaker(random, tables, risk=0.0)
    inserts = []
    for number in range(random.choice((1, 2))):
        below = _below(random, maker)
        windows = maker.assigned(below)
        assert windows is not None
        if windows.slide_us < windows.size_us:  # windows that overlap are computed from slices
            windows = replace(windows, slide_us=windows.size_us)
        schema, end = windows.schema, len(below.schema) + 1
        others = [i for i, column in enumerate(schema[:end]) if column.name in {"k", "s"}]
        picked = random.sample(others, random.choice((0, 1, 1, 2)))
        keys = tuple(maker.column(schema, index) for index in (end, *picked))
        calls = tuple(_call(random, maker, schema) for _ in range(random.choice((1, 2, 3))))
        names = maker.named(keys), maker.named(calls)
        query = logical.WindowAggregate(windows, keys, names[0], calls, names[1], end, final=True)
        sink = logical.SinkTable(f"o{number}", query.schema, (), logical.Changes.APPEND, None)
        inserts.append(logical.Insert(sink, query))
    job = logical.Job(tuple(inserts))
    awkward = random.choice((0.0, 0.1))
    inputs = {
        table.ordinal: random_rows(random, random.choice((20, 60)), awkward=awkward, malformed=0.0)
        for table in job.tables
    }
    return Case(f"hot {seed}", logical_text(job), job, inputs)


def _table(random: Random, ordinal: int) -> logical.Table:
    """Return a table with event times, a malformed row of which would end the job."""
    table = random_table(random, ordinal, event=True)
    while table.time is not logical.TimeKind.EVENT:
        table = random_table(random, ordinal, event=True)
    return replace(table, options=(("on_error", "stop"),))


def _below(random: Random, maker: PlanMaker) -> logical.Plan:
    """Return a scan, perhaps with a filter or rows of its arrays, or two of them."""
    below = maker.plan(0)
    if random.random() < 0.3:
        below = logical.Filter(below, maker.expression(below.schema, BOOLEAN, 1))
    if random.random() < 0.3:
        array = maker.expression(below.schema, array_of(BIGINT), 0)
        return logical.Unnest(below, array, maker.name(), None)
    if random.random() < 0.2:
        return logical.Union((below, maker.plan(0)))
    return below


def _call(random: Random, maker: PlanMaker, schema: Schema) -> AggregateCall:
    function = random.choice((AggregateFunction.COUNT, *SUMS, *SUMS, *EXTREMES))
    kinds = (BIGINT,) if function in SUMS else COMPARED
    columns = [index for index, column in enumerate(schema) if column.type in kinds]
    argument: ColumnRef | None = maker.column(schema, random.choice(columns))
    if function is AggregateFunction.COUNT and random.random() < 0.5:
        argument = None
    result = aggregate_result(function, None if argument is None else argument.type)
    assert result is not None
    return AggregateCall(function, argument, result, function is not AggregateFunction.COUNT)


def check_seeds(seeds: Iterable[int], met: Counter[str]) -> None:
    """Run the cases of seeds in all ways; see `check_seed`."""
    for seed in seeds:
        check_seed(seed, met)


def check_seed(seed: int, met: Counter[str]) -> None:
    """Run the case of a seed in all ways.

    Raises:
        AssertionError: one of them releases something else than the oracle.
    """
    case, random = window_case(seed), Random(f"{seed} schedules")
    expected = by_oracle(case.job, case.inputs)
    met["late rows"] += any(expected.late)
    met["something released"] += any(expected.released)
    met["row errors"] += expected.error is not None
    for _ in range(2):
        schedule = replace(random_schedule(random), pre_aggregates=random.choice((1, 1, 2)))
        actual, effort = by_engine(case.job, case.inputs, schedule)
        difference = expected.difference(actual)
        assert not difference, f"{case}\n{schedule}: {difference}"
        met["runs that repair"] += effort.rows_redone > 0
    check_layouts(case, random, met)
    check_snapshots(case, expected, roots_of(case), random, met)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(10), ids=str)
def test_pre_aggregated_rows_are_not_seen(seeds: range) -> None:
    met: Counter[str] = Counter()
    replaces = PreAggregation.__call__

    def counted(
        self: PreAggregation, batch: Batch, hashes: Hashes, cut: Root | None = None
    ) -> PreAggregated | None:
        found = replaces(self, batch, hashes, cut)
        met["batches divided"] += found is not None and cut is not None
        met["rows replaced"] += found is not None and len(batch) - len(found.batch)
        return found

    with patch.object(PreAggregation, "__call__", counted):
        check_seeds(seeds, met)
    assert [name for name in MUST_BE_MET if not met[name]] == [], met


def positions_are_agreed_to_that_rows_were_combined_across(patch: pytest.MonkeyPatch) -> None:
    def agrees_to(self: Exchange, position: Root) -> bool:
        self._position = position
        return True

    patch.setattr(Exchange, "agrees_to", agrees_to)


def batches_are_not_divided(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exchange, "_cut", lambda *_: None)


def the_row_at_a_position_is_combined_with_those_below(patch: pytest.MonkeyPatch) -> None:
    def at_or_below(batch: Batch, position: Root) -> Bools:
        return below(batch, Root(position.time, position.origin + 1))

    patch.setattr(pre_aggregation, "below", at_or_below)


def the_upper_part_of_a_batch_is_not_recorded(patch: pytest.MonkeyPatch) -> None:
    right = PreAggregation.__call__

    def replace_rows(
        self: PreAggregation, batch: Batch, hashes: Hashes, cut: Root | None = None
    ) -> PreAggregated | None:
        found = right(self, batch, hashes, cut)
        if found is None or cut is None:
            return found
        return found._replace(greatest=min(found.greatest, cut))

    patch.setattr(PreAggregation, "__call__", replace_rows)


MUTANTS: Final[dict[Callable[[pytest.MonkeyPatch], None], int]] = {
    positions_are_agreed_to_that_rows_were_combined_across: 62,
    batches_are_not_divided: 103,
    the_row_at_a_position_is_combined_with_those_below: 103,
    the_upper_part_of_a_batch_is_not_recorded: 147,
}
"""Each mutant has a seed that found it when it was recorded."""


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_found(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If cases have changed since a seed was recorded, others are tried."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="hot"):
        check_seeds((MUTANTS[mutant], *range(80)), Counter())
