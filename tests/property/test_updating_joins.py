"""Joins of updating inputs, chains of them too, release the same bytes on every way, and from snapshots.

Oracle, model and engine are compared as in `test_ways`; runs go on from snapshots as in `test_snapshots`.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.runtime.kernels.join import append_only, updates
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds, seed_ranges

if TYPE_CHECKING:
    from fsql.tests.property.cases import Case

MUST_BE_MET = (
    *("chain", "NULL key", "updates", "something released"),
    *(kind.value for kind in logical.JoinKind),
    *("runs that repair", "runs that hold"),
)


def joins(case: Case) -> list[logical.Join]:
    """Return the joins of a case."""
    plans = [plan for insert in case.job.inserts for plan in logical.operators(insert.query)]
    return [plan for plan in plans if isinstance(plan, logical.Join)]


def has_null_keys(case: Case) -> bool:
    """Say whether the input has NULL in columns that are keys of the aggregates joined."""
    rows = (row for splits in case.inputs.values() for split in splits for row in split)
    return any(isinstance(row, tuple) and row[0] is None for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(8), ids=str)
def test_all_ways_release_the_same(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        case = case_of("updating-join", seed)
        met["chain"] += len(joins(case)) > 1
        met["NULL key"] += has_null_keys(case)
        met.update({join.kind.value for join in joins(case)})
        met.update(check(case))
    assert [name for name in MUST_BE_MET if not met[name]] == [], met


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(8), ids=str)
def test_runs_go_on_from_snapshots(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        case = case_of("updating-join", seed)
        check_snapshots(
            case, by_oracle(case.job, case.inputs), roots_of(case), Random(case.name), met
        )
    assert met["runs from a snapshot"], met
    assert met["rows restored"], met


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plan", "updating-join"])
def test_joins_that_make_their_pairs_in_parts_release_the_same(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_only, "PAIRS_MAX", 3)
    monkeypatch.setattr(updates, "PAIRS_MAX", 3)
    cases = [case_of(kind, seed) for seed in chosen_seeds(10)]
    for case in cases:
        if joins(case):
            check(case, schedules=2)
            positions = roots_of(case)
            expected = by_oracle(case.job, case.inputs)
            check_snapshots(case, expected, positions, Random(case.name), Counter())
