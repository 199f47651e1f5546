"""Coordination in memory: the suite, and what its faults do to leases, epochs and commits."""

from __future__ import annotations

import pytest

from fsql.runtime.coordination.commits import (
    CommitRefusedError,
    Committed,
    commit_snapshot,
    newest_committed,
    next_epoch,
    read_committed,
)
from fsql.runtime.coordination.in_memory import Ensemble, MemoryCoordination
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import (
    CoordinationUnavailableError,
    DamagedCoordinationError,
    SessionExpiredError,
)
from fsql.tests.unit.coordination.conformance import SURE, TTL, Conformance


class MemoryWorld:
    """A `World` in memory."""

    def __init__(self) -> None:
        self._now = 100.0
        self.ensemble = Ensemble(self.now)

    def client(self) -> MemoryCoordination:
        return MemoryCoordination(self.ensemble)

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def now(self) -> float:
        return self._now


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


class TestInMemory(Conformance):
    """The suite, in memory."""


def lease_of(world: MemoryWorld, client: MemoryCoordination) -> Lease:
    return Lease(client, "leader", b"somebody", TTL, world.now)


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_lease_that_was_got_without_knowing_is_recognized(world: MemoryWorld, lost: int) -> None:
    """The answers of open, keep alive or create are lost."""
    client = world.client()
    lease = lease_of(world, client)
    client.faults.replies_lost = lost
    for _ in range(lost):
        with pytest.raises(CoordinationUnavailableError):
            lease.acquire()
        assert lease.held_until < world.now()
        world.advance(1)
    assert lease.acquire()
    assert lease.held_until == world.now() + SURE
    commit_snapshot(client, lease.session, Committed(1, "aa", 1))


def test_without_answers_a_lease_runs_out_and_writes_are_refused(world: MemoryWorld) -> None:
    one, other = world.client(), world.client()
    mine, yours = lease_of(world, one), lease_of(world, other)
    assert mine.acquire()
    session, held_until = mine.session, mine.held_until
    one.faults.unavailable = True
    for _ in range(3):
        world.advance(TTL / 3 + 0.1)
        with pytest.raises(CoordinationUnavailableError):
            mine.renew()
    assert mine.held_until == held_until < world.now()
    assert yours.acquire()
    one.faults.unavailable = False
    with pytest.raises(SessionExpiredError):
        commit_snapshot(one, session, Committed(1, "aa", 1))
    assert not mine.renew()


def test_a_renewal_whose_answer_is_lost_does_not_count(world: MemoryWorld) -> None:
    client = world.client()
    lease = lease_of(world, client)
    assert lease.acquire()
    held_until = lease.held_until
    world.advance(3)
    client.faults.replies_lost = 1
    with pytest.raises(CoordinationUnavailableError):
        lease.renew()
    assert lease.held_until == held_until


def test_a_session_that_was_ended_takes_the_lease_with_it(world: MemoryWorld) -> None:
    one, other = world.client(), world.client()
    mine, yours = lease_of(world, one), lease_of(world, other)
    assert mine.acquire()
    world.ensemble.expire(mine.session)
    assert yours.acquire()
    assert not mine.renew()
    assert not mine.acquire()


def test_an_epoch_whose_answer_is_lost_is_not_given_twice(world: MemoryWorld) -> None:
    client = world.client()
    session = client.open_session(TTL)
    assert next_epoch(client, session) == 1
    client.faults.replies_lost = 1
    with pytest.raises(CoordinationUnavailableError):
        next_epoch(client, session)
    assert next_epoch(client, session) == 3


@pytest.mark.parametrize("stale_writes", [1, 2, 5])
def test_who_reads_stale_entries_takes_no_epoch_twice(
    world: MemoryWorld, stale_writes: int
) -> None:
    one, other = world.client(), world.client()
    session, others = one.open_session(TTL), other.open_session(TTL)
    taken = [next_epoch(one, session) for _ in range(3)]
    other.faults.stale_writes = stale_writes
    with pytest.raises(CoordinationUnavailableError):
        next_epoch(other, others)
    other.faults.stale_writes = 0
    assert [*taken, next_epoch(other, others)] == [1, 2, 3, 4]


def test_who_reads_stale_entries_commits_nothing_again(world: MemoryWorld) -> None:
    one, other = world.client(), world.client()
    session, others = one.open_session(TTL), other.open_session(TTL)
    for number in (1, 2):
        commit_snapshot(one, session, Committed(number, "aa", 1))
    other.faults.stale_writes = 1
    with pytest.raises(CoordinationUnavailableError):
        commit_snapshot(other, others, Committed(2, "bb", 1))
    assert read_committed(other) == Committed(1, "aa", 1)
    assert read_committed(one) == Committed(2, "aa", 1)


def test_who_reads_stale_entries_finds_the_newest_snapshot(world: MemoryWorld) -> None:
    one, other = world.client(), world.client()
    session, others = one.open_session(600), other.open_session(600)
    other.faults.stale_writes = 3
    for number in (1, 2):
        commit_snapshot(one, session, Committed(number, "aa", 1))
    assert read_committed(other) is None
    with pytest.raises(CoordinationUnavailableError):
        newest_committed(other, others)
    other.faults.stale_writes = 0
    assert newest_committed(other, others) == Committed(2, "aa", 1)


def test_that_there_is_no_snapshot_is_written_too(world: MemoryWorld) -> None:
    client = world.client()
    session = client.open_session(600)
    assert [newest_committed(client, session) for _ in range(2)] == [None, None]
    assert read_committed(client) is None
    commit_snapshot(client, session, Committed(1, "aa", 1))
    assert newest_committed(client, session) == Committed(1, "aa", 1)


def test_a_commit_whose_answer_is_lost_can_be_said_again(world: MemoryWorld) -> None:
    client = world.client()
    session = client.open_session(TTL)
    client.faults.replies_lost = 1
    with pytest.raises(CoordinationUnavailableError):
        commit_snapshot(client, session, Committed(1, "aa", 1))
    assert read_committed(client) == Committed(1, "aa", 1)
    commit_snapshot(client, session, Committed(1, "aa", 1))
    with pytest.raises(CommitRefusedError):
        commit_snapshot(client, session, Committed(1, "bb", 1))


def test_an_entry_that_is_not_ours_is_told(world: MemoryWorld) -> None:
    client = world.client()
    client.create(client.open_session(TTL), "snapshot", b'{"snapshot": "x"}')
    with pytest.raises(DamagedCoordinationError, match='entry "snapshot" is not readable'):
        read_committed(client)


def test_a_service_that_is_read_only_keeps_no_lease(world: MemoryWorld) -> None:
    one, other = world.client(), world.client()
    mine = lease_of(world, one)
    assert mine.acquire()
    held_until = mine.held_until
    one.faults.read_only = True
    world.advance(TTL * 0.5)
    with pytest.raises(CoordinationUnavailableError):
        mine.renew()
    assert (mine.held_until, mine.is_acquired) == (held_until, True)
    entry = one.get("leader")
    assert entry is not None
    with pytest.raises(CoordinationUnavailableError):
        one.replace(mine.session, "leader", b"", entry.version)
    assert other.get("leader") == entry


def test_sessions_outlive_a_service_that_restarts(world: MemoryWorld) -> None:
    one, other = world.client(), world.client()
    mine, yours = lease_of(world, one), lease_of(world, other)
    assert mine.acquire()
    world.ensemble.stopped = True
    world.advance(TTL * 5)
    world.ensemble.restart()
    world.advance(TTL * 0.9)
    assert not yours.acquire()
    assert mine.renew()
    assert mine.held_until == world.now() + SURE
    world.advance(TTL * 1.1)
    assert (mine.hold(), yours.hold(), yours.hold()) == (False, False, True)
