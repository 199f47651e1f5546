"""The owner map of a coordinator that takes over: that of the last tick taken, newer than a manifest's."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import START
from fsql.runtime.cluster.coordinator.epoch import CoordinatorEpoch
from fsql.runtime.cluster.coordinator.events import EpochTaken
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.delivery.shards import RowSharder, Shard
from fsql.runtime.cluster.job_spec import JobSpec, Output, Settings
from fsql.runtime.cluster.snapshots.manifest import Manifest
from fsql.runtime.cluster.ticks.events import Layout, TickEnded, TickProposed
from fsql.runtime.cluster.ticks.proposed_ticks import ProposedTicks
from fsql.tests.queries.examples import EXAMPLES

ALL_TO_ONE = ((1, 0, 4096),)
SWAPPED = ((1, 0, 2048), (0, 2048, 4096))
ALL = Layout(ALL_TO_ONE, 2)
OTHER = Layout(SWAPPED, 2)
EQUAL = OwnerMap.of_equal_ranges(2).ranges


def job() -> JobSpec:
    example = EXAMPLES["inverted_index"]
    plan = choose(
        example.compiled.graph, workers=2, fronts=example.fronts, policy=Policy.SPECULATIVE
    )
    return JobSpec("job", 0, plan, (), (), b"", graph="graph")


def manifest(workers: int) -> Manifest:
    return Manifest("job", 0, 1, 1, (0, 0), workers, (), (), owners=SWAPPED)


def sharded() -> JobSpec:
    sharder = RowSharder(4, None)
    shards = [Shard(shard, sharder) for shard in range(4)]
    outputs = [Output(DeliveryOption.EXACTLY_ONCE, insert=0, shard=each) for each in shards]
    return replace(job(), outputs=tuple(outputs))


def owners(ticks: ProposedTicks, taken: EpochTaken) -> tuple[tuple[int, int, int], ...]:
    return ticks.on_epoch_taken(taken).plan.assignment.owners.ranges


def test_a_new_coordinator_goes_on_with_the_last_tick() -> None:
    assert owners(ProposedTicks(job(), Settings()), EpochTaken(1, None)) == EQUAL
    assert owners(ProposedTicks(job(), Settings()), EpochTaken(1, manifest(2))) == SWAPPED
    assert owners(ProposedTicks(job(), Settings()), EpochTaken(1, manifest(3))) == EQUAL
    assert owners(ProposedTicks(job(), Settings()), EpochTaken(1, manifest(2), ALL)) == ALL_TO_ONE
    assert owners(ProposedTicks(job(), Settings()), EpochTaken(1, None, ALL)) == ALL_TO_ONE


def test_exchanges_keep_their_maps_as_long_as_the_plan_has_them() -> None:
    [exchange] = job().plan.exchanges.values()
    expected = Owners(OwnerMap.of_ranges(SWAPPED), ((exchange, OwnerMap.of_ranges(ALL_TO_ONE)),))
    named = ((exchange, ALL_TO_ONE), ("join-of-another-plan", EQUAL))
    snapshot = msgspec.structs.replace(manifest(2), exchanges=named)
    for taken in EpochTaken(1, snapshot), EpochTaken(1, None, replace(OTHER, exchanges=named)):
        spec = ProposedTicks(job(), Settings()).on_epoch_taken(taken)
        assert spec.plan.assignment.owners == expected


def test_a_proposal_for_an_exchange_that_the_plan_does_not_have_is_refused() -> None:
    ticks = ProposedTicks(job(), Settings())
    epoch = CoordinatorEpoch(job(), 1, None, ["a", "b"], Settings(), 0.0)
    ticks.on_proposal(TickProposed(1, (), exchanges=(("join-1", EQUAL),)), 0.0)
    why = "the plan has no exchange join-1"
    assert ticks.advance(epoch, 1.0) == [TickEnded(1, START, 1.0, refused=why)]


def test_one_that_goes_on_keeps_its_map() -> None:
    ticks = ProposedTicks(job(), Settings())
    assert owners(ticks, EpochTaken(1, None, ALL)) == ALL_TO_ONE
    assert owners(ticks, EpochTaken(2, manifest(2), OTHER)) == ALL_TO_ONE


def test_one_that_has_lost_its_lease_asks_again() -> None:
    ticks = ProposedTicks(job(), Settings())
    assert owners(ticks, EpochTaken(1, None, ALL)) == ALL_TO_ONE
    ticks.on_lease_lost()
    assert owners(ticks, EpochTaken(3, None, OTHER)) == SWAPPED


def test_a_proposal_that_is_known_is_not_refused() -> None:
    ticks = ProposedTicks(job(), Settings())
    epoch = CoordinatorEpoch(job(), 1, None, ["a", "b"], Settings(), 0.0)
    for _ in range(2):
        ticks.on_proposal(TickProposed(1, ALL_TO_ONE), 0.0)
        assert ticks.advance(epoch, 0.0) == []
    ticks.on_proposal(TickProposed(2, ALL_TO_ONE), 0.0)
    assert ticks.advance(epoch, 0.0) == [
        TickEnded(2, START, 0.0, refused="another tick is under way")
    ]
    assert epoch.ticks.current is not None
    epoch.ticks.current.refused = "no"
    assert ticks.advance(epoch, 2.0) == [TickEnded(1, START, 2.0, refused="no")]
    ticks.on_proposal(TickProposed(1, ALL_TO_ONE), 3.0)
    assert ticks.advance(epoch, 4.0) == []


def test_workers_that_write_shards_do_not_leave() -> None:
    ticks = ProposedTicks(sharded(), Settings())
    three = ["a", "b", "c"]
    epoch = CoordinatorEpoch(sharded(), 1, None, three, Settings(shard_writers_min=3), 0.0)
    ticks.on_proposal(TickProposed(1, ALL_TO_ONE, 2), 0.0)
    refused = "worker 2 writes shards, and would leave"
    assert ticks.advance(epoch, 1.0) == [TickEnded(1, START, 1.0, refused=refused)]


def test_workers_leave_if_the_coordinator_writes_the_shards() -> None:
    ticks = ProposedTicks(sharded(), Settings())
    three = ["a", "b", "c"]
    epoch = CoordinatorEpoch(sharded(), 1, None, three, Settings(shard_writers_min=4), 0.0)
    ticks.on_proposal(TickProposed(1, ALL_TO_ONE, 2), 0.0)
    assert ticks.advance(epoch, 1.0) == []
