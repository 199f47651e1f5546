"""Contraction: which ticks a course of load leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.owners import Owners
from fsql.runtime.cluster.ticks.contraction import Contraction, contracted_owners, spread_owners
from fsql.runtime.dataflow.metrics import Metrics, OperatorMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTRACTED, SPREAD = contracted_owners(3), spread_owners(3)
EQUAL = Owners.of_equal_ranges(3)


def ticks(
    course: Sequence[tuple[float, float]],
    owners: Owners = CONTRACTED,
    state_mib: float = 0.0,
    state_mib_grows: float = 0.0,
) -> list[tuple[float, str]]:
    """Return when a tick is proposed, and why; each is taken at once.

    The state of all workers is so large at first, and grows so much in a second.

    `course` has how long how many cores are busy with all that is to do.  Half of it is the first front's,
    the rest belongs to the owners.  A measurement is made twice a second.
    """
    rule, now, metrics = Contraction(3), 0.0, {1: Metrics(), 2: Metrics()}
    proposed = []
    for seconds, load in course:
        until = now + seconds
        while now < until:
            now += 0.5
            elsewhere = 0.0 if owners == CONTRACTED else load / 4
            for each in metrics.values():
                taken = each.operators.setdefault("fold", OperatorMetrics())
                taken.seconds += elsewhere / 2 * 0.5
            metrics[1].bytes_state = int(state_mib + now * state_mib_grows) << 20
            proposal = rule.on_load(min(1.0, load - elsewhere), metrics, owners, now)
            if proposal is not None:
                owners = Owners.of_ranges(proposal.owners, workers=3)
                proposed.append((now, proposal.reason))
    return proposed


def test_bins_spread_under_load_and_come_back() -> None:
    assert ticks([(30, 0.2), (60, 0.9), (30, 0.2)]) == [
        (31.5, "busy for 90% of the time"),
        (95.5, "all processes together busy for 20% of the time"),
    ]


def test_large_state_is_shared() -> None:
    assert ticks([(30, 0.9), (30, 0.2)], SPREAD, state_mib=300) == [
        (35.5, "all processes together busy for 20% of the time"),
    ]
    assert ticks([(60, 0.2)], state_mib_grows=20) == [(31.0, "620 MiB of state in one process")]


def test_shared_bins_spread_under_load() -> None:
    assert ticks([(30, 0.2), (30, 1.6)], EQUAL, state_mib=600) == [
        (31.5, "busy for 100% of the time")
    ]


@pytest.mark.parametrize("load", [number / 5 for number in range(11)])
@pytest.mark.parametrize("owners", [CONTRACTED, SPREAD, EQUAL])
@pytest.mark.parametrize("state_mib", [0, 255, 256, 512, 513])
def test_a_steady_load_leads_to_one_tick_at_most(
    load: float, owners: Owners, state_mib: int
) -> None:
    assert len(ticks([(300, load)], owners, state_mib)) <= 1


def test_a_short_peak_or_lull_changes_nothing() -> None:
    assert ticks([(10, 0.1), (0.5, 1.0)] * 5) == []
    assert ticks([(10, 1.0), (4, 0.1)] * 5, SPREAD) == []


def test_an_owner_map_that_was_proposed_by_somebody_stays() -> None:
    somebodys = Owners(OwnerMap((2,) * 4096, 3))
    assert ticks([(100, 0.1), (100, 1.0)], somebodys) == []


def test_the_other_workers_own_all_bins_under_load() -> None:
    assert SPREAD.ranges == ((1, 0, 2048), (2, 2048, 4096))
    assert spread_owners(2).ranges == ((1, 0, 4096),)
    assert spread_owners(1) == contracted_owners(1)
