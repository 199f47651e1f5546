"""Joins of rows with what the other side has at their positions release the same bytes on every way.

The oracle takes, for each row of the left, the relation of the right up to the row's root.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.runtime.kernels.join import once, updates
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds, seed_ranges

if TYPE_CHECKING:
    from fsql.tests.property.cases import Case

MUST_BE_MET = (
    *("INNER", "LEFT", "condition", "changes on the right", "rows that stay on the right"),
    *("self join", "something released", "runs that repair", "runs that hold"),
)


def join_of(case: Case) -> logical.Join:
    """Return the join of a case that joins rows once."""
    plans = [plan for insert in case.job.inserts for plan in logical.operators(insert.query)]
    [join] = [plan for plan in plans if isinstance(plan, logical.Join) and plan.once]
    return join


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(16), ids=str)
def test_all_ways_release_the_same(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        case = case_of("join-once", seed)
        join = join_of(case)
        met[join.kind.value] += 1
        met["condition"] += join.condition is not None
        stays = logical.append_only(join.right)
        met["rows that stay on the right" if stays else "changes on the right"] += 1
        met.update(check(case))
    assert [name for name in MUST_BE_MET if not met[name]] == [], met


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(8), ids=str)
def test_runs_go_on_from_snapshots(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        case = case_of("join-once", seed)
        check_snapshots(
            case, by_oracle(case.job, case.inputs), roots_of(case), Random(case.name), met
        )
    assert met["runs from a snapshot"], met
    assert met["rows restored"], met


@pytest.mark.slow
def test_joins_in_parts_that_forget_keys_release_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "PAIRS_MAX", 3)
    # Keys without rows on the right are forgotten after each application.
    monkeypatch.setattr(updates, "_KEYS_MIN", -1_000_000)
    for seed in chosen_seeds(12):
        case = case_of("join-once", seed)
        check(case, schedules=4)
        check_snapshots(
            case,
            by_oracle(case.job, case.inputs),
            roots_of(case),
            Random(case.name),
            Counter(),
        )


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(8), ids=str)
def test_replicas_change_with_owners_and_release_the_same(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        check_layouts(case_of("join-once", seed), Random(f"replicas {seed}"), met)
    for name in ("changes", "replication drawn", "rows moved", "rows queued"):
        assert met[name], met
