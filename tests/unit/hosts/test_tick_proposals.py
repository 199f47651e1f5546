"""Ticks between coordination and a coordinator's node: refused at once, or handed over and recorded."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.plan_choices import FilterOrder, PlanChoices, choices_of
from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.job_spec import JobSpec
from fsql.runtime.cluster.ticks.events import Layout, TickEnded, TickProposed
from fsql.runtime.coordination.in_memory import Ensemble, MemoryCoordination
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.ticks import (
    TickProposal,
    TickRecord,
    find_record,
    open_proposal,
    propose_tick,
    put_record,
)
from fsql.runtime.hosts.tick_proposals import TickProposals, last_layout
from fsql.tests.queries.examples import EXAMPLES

ALL_TO_ONE = ((1, 0, 4096),)
ASKED = TickProposal(0, "graph", 2, ALL_TO_ONE, "load", 7.0)


def job() -> JobSpec:
    example = EXAMPLES["inverted_index"]
    plan = choose(
        example.compiled.graph, workers=2, fronts=example.fronts, policy=Policy.SPECULATIVE
    )
    return JobSpec("job", 0, plan, (), (), b"", graph="graph")


ORDERED = PlanChoices(tuple((each, Policy.ORDERED) for each, _ in choices_of(job().plan).policies))
TAKEN = TickEnded(
    1, Root(5, 1), 0.25, moved_bins=9, layout=Layout(ALL_TO_ONE, 2, ORDERED), changes=("policy",)
)


class Led:
    """The proposals of a coordinator that has the lease."""

    def __init__(self) -> None:
        self.coordination = MemoryCoordination(Ensemble(lambda: 0.0))
        self.lease = Lease(self.coordination, "leader", b"here", 3.0, lambda: 0.0)
        assert self.lease.hold()
        self.ticks = TickProposals(self.coordination, self.lease, job(), lambda: 7.0)

    def propose(self, proposal: TickProposal) -> int:
        return propose_tick(self.coordination, self.coordination.open_session(3.0), proposal)

    def last_owners(self) -> tuple[tuple[int, int, int], ...]:
        last = last_layout(self.coordination, job())
        return () if last is None else last.owners


def taken() -> TickProposal:
    return replace(ASKED, tick=1, workers_after=2, choices=ORDERED)


@pytest.fixture
def led() -> Led:
    return Led()


def test_a_proposal_is_handed_over_until_it_has_ended(led: Led) -> None:
    assert list(led.ticks.advance()) == []
    led.propose(ASKED)
    for _ in range(2):
        assert list(led.ticks.advance()) == [TickProposed(1, ALL_TO_ONE, 2)]
    led.ticks.on_ended(TAKEN)
    assert list(led.ticks.advance()) == []
    record = TickRecord(taken(), (5, 1), 0.25, 9, changes=("policy",))
    assert find_record(led.coordination, 1) == record
    assert led.last_owners() == ALL_TO_ONE


def test_why_a_tick_is_refused_is_recorded(led: Led) -> None:
    led.propose(ASKED)
    list(led.ticks.advance())
    led.ticks.on_ended(TickEnded(1, START, 0.25, refused="a worker declines"))
    list(led.ticks.advance())
    record = TickRecord(replace(ASKED, tick=1), None, 0.25, refused="a worker declines")
    assert find_record(led.coordination, 1) == record
    assert led.last_owners() == ()


@pytest.mark.parametrize(
    ("proposal", "why"),
    [
        (replace(ASKED, graph="other"), "it was proposed for another plan than the job has now"),
        (replace(ASKED, workers=3), "it was proposed for a run with 3 workers, and this has 2"),
        (
            replace(ASKED, choices=PlanChoices((("join-1", Policy.ORDERED),))),
            "the plan has no fold join-1",
        ),
        (
            replace(ASKED, choices=PlanChoices(filters=(FilterOrder(0, 0, ((0,),)),))),
            "stage 0 has no filter run 0",
        ),
        (
            replace(ASKED, owners=(), exchanges=(("join-1", ALL_TO_ONE),)),
            "the plan has no exchange join-1",
        ),
        *(
            (replace(ASKED, owners=owners), "its owner map does not give each bin to a worker")
            for owners in (((2, 0, 4096),), ((0, 0, 4000),), ((0, 0, 9), (1, 8, 4096)))
        ),
    ],
)
def test_what_does_not_fit_the_job_is_refused(led: Led, proposal: TickProposal, why: str) -> None:
    led.propose(proposal)
    assert list(led.ticks.advance()) == []
    record = TickRecord(replace(proposal, tick=1), None, 0.0, refused=why)
    assert find_record(led.coordination, 1) == record


def test_a_proposal_that_is_open_when_the_job_ends_is_refused(led: Led) -> None:
    led.propose(ASKED)
    list(led.ticks.end_job())
    record = TickRecord(
        replace(ASKED, tick=1), None, 0.0, refused="the job has ended before it was taken"
    )
    assert find_record(led.coordination, 1) == record


def test_a_tick_that_was_taken_before_the_job_ended_is_recorded_as_taken(led: Led) -> None:
    led.propose(ASKED)
    list(led.ticks.advance())
    led.ticks.on_ended(TAKEN)
    list(led.ticks.end_job())
    record = TickRecord(taken(), (5, 1), 0.25, 9, changes=("policy",))
    assert find_record(led.coordination, 1) == record


def test_without_an_answer_the_end_is_recorded_later(led: Led) -> None:
    led.propose(ASKED)
    list(led.ticks.advance())
    led.ticks.on_ended(TickEnded(1, Root(5, 1), 0.25))
    led.coordination.faults.unavailable = True
    assert list(led.ticks.advance()) == []
    led.coordination.faults.unavailable = False
    assert list(led.ticks.advance()) == []
    assert open_proposal(led.coordination) is None


def test_another_coordinator_takes_what_was_not_recorded(led: Led) -> None:
    led.propose(ASKED)
    list(led.ticks.advance())
    led.ticks.on_ended(TickEnded(1, Root(5, 1), 0.25))
    led.ticks.on_lease_lost()
    assert list(led.ticks.advance()) == [TickProposed(1, ALL_TO_ONE, 2)]


def test_the_map_of_another_number_of_workers_is_not_used(led: Led) -> None:
    owners = OwnerMap.of_equal_ranges(3).ranges
    tick = led.propose(replace(ASKED, workers=3, owners=owners))
    session = led.coordination.open_session(3.0)
    record = TickRecord(replace(ASKED, tick=tick, workers=3, owners=owners), (5, 1), 0.25)
    put_record(led.coordination, session, record)
    assert led.last_owners() == ()
