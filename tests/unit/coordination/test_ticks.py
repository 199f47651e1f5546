"""Proposals of ticks in coordination: one at a time, numbered, and a bounded number of records."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fsql.runtime.coordination.in_memory import Ensemble, MemoryCoordination
from fsql.runtime.coordination.port import DamagedCoordinationError, SessionExpiredError
from fsql.runtime.coordination.ticks import (
    KEPT,
    PROPOSAL,
    TickProposal,
    TickRecord,
    TickUnderWayError,
    find_record,
    kept_records,
    last_taken,
    open_proposal,
    propose_tick,
    put_record,
)

ASKED = TickProposal(0, "graph", 2, ((1, 0, 4096),), "load", 7.0)


@pytest.fixture
def coordination() -> MemoryCoordination:
    return MemoryCoordination(Ensemble(lambda: 0.0))


def session(coordination: MemoryCoordination) -> int:
    return coordination.open_session(10.0)


def end(coordination: MemoryCoordination, tick: int, refused: str = "") -> TickRecord:
    """Record that a tick has ended."""
    record = TickRecord(replace(ASKED, tick=tick), (tick, 1), 0.5, refused=refused)
    put_record(coordination, session(coordination), record)
    return record


def test_a_proposal_is_open_until_there_is_a_record(coordination: MemoryCoordination) -> None:
    assert open_proposal(coordination) is None
    assert propose_tick(coordination, session(coordination), ASKED) == 1
    assert open_proposal(coordination) == replace(ASKED, tick=1)
    with pytest.raises(TickUnderWayError, match="tick 1 has not ended"):
        propose_tick(coordination, session(coordination), ASKED)
    record = end(coordination, 1)
    assert open_proposal(coordination) is None
    assert find_record(coordination, 1) == record
    assert propose_tick(coordination, session(coordination), ASKED) == 2


def test_of_two_who_propose_at_once_one_does(coordination: MemoryCoordination) -> None:
    other = MemoryCoordination(coordination._ensemble)
    get = other.get

    def get_and_lose(key: str) -> object:
        found = get(key)
        other.get = get  # type: ignore[method-assign]
        propose_tick(coordination, session(coordination), ASKED)
        return found

    other.get = get_and_lose  # type: ignore[method-assign,assignment]
    with pytest.raises(TickUnderWayError, match="tick 1 has not ended"):
        propose_tick(other, session(other), ASKED)
    assert open_proposal(coordination) == replace(ASKED, tick=1)


def test_the_first_record_of_a_tick_stays(coordination: MemoryCoordination) -> None:
    propose_tick(coordination, session(coordination), ASKED)
    first = end(coordination, 1)
    end(coordination, 1, "another coordinator")
    assert find_record(coordination, 1) == first


def test_a_coordinator_that_has_lost_its_lease_records_nothing(
    coordination: MemoryCoordination,
) -> None:
    propose_tick(coordination, session(coordination), ASKED)
    lost = session(coordination)
    coordination.close_session(lost)
    with pytest.raises(SessionExpiredError):
        put_record(coordination, lost, TickRecord(replace(ASKED, tick=1), (1, 1), 0.5))
    assert open_proposal(coordination) == replace(ASKED, tick=1)


def test_the_last_records_are_kept(coordination: MemoryCoordination) -> None:
    records = []
    for _ in range(KEPT + 5):
        tick = propose_tick(coordination, session(coordination), ASKED)
        records.append(end(coordination, tick, "" if tick % 4 == 0 else "no"))
    assert kept_records(coordination) == records[: -KEPT - 1 : -1]
    assert find_record(coordination, 5) is None
    assert last_taken(coordination) == records[103]


def test_damage_is_reported(coordination: MemoryCoordination) -> None:
    coordination.create(session(coordination), PROPOSAL, b"{}")
    with pytest.raises(DamagedCoordinationError, match='entry "tick-proposal" is not readable'):
        open_proposal(coordination)
