"""What every driver of coordination must pass.

A driver's test module makes a subclass of `Conformance` that says how to get a `World`: clients that share
what is stored, and a clock that is moved by hand.  Versions are compared with each other only, and marks not
at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import pytest

from fsql.runtime.coordination.commits import (
    CommitRefusedError,
    Committed,
    commit_snapshot,
    next_epoch,
    read_committed,
)
from fsql.runtime.coordination.lease import CLOCKS_DIFFER, Lease
from fsql.runtime.coordination.port import (
    EntryChangedError,
    EntryExistsError,
    SessionExpiredError,
)

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination, Entry

TTL = 10.0
SURE = TTL * (1 - CLOCKS_DIFFER)


class World(Protocol):
    """Clients of one coordination service, and its time."""

    def client(self) -> Coordination:
        """Return another client."""

    def advance(self, seconds: float) -> None:
        """Let time pass."""

    def now(self) -> float:
        """Return the time."""


def value_of(entry: Entry | None) -> bytes | None:
    return None if entry is None else entry.value


class Conformance:
    """The suite; a module that subclasses it has a fixture `world`."""

    @pytest.fixture
    def one(self, world: World) -> Coordination:
        return world.client()

    @pytest.fixture
    def other(self, world: World) -> Coordination:
        return world.client()

    # --- Entries ---

    def test_what_one_writes_the_other_reads(self, one: Coordination, other: Coordination) -> None:
        session = one.open_session(TTL)
        assert other.get("a/é") is None
        created = one.create(session, "a/é", b"1")
        assert other.get("a/é") == created
        assert (created.key, created.value, created.session) == ("a/é", b"1", None)
        replaced = one.replace(session, "a/é", b"\0\xff", created.version)
        assert other.get("a/é") == replaced
        assert value_of(replaced) == b"\0\xff"
        assert replaced.version != created.version
        one.delete(session, "a/é", replaced.version)
        assert other.get("a/é") is None

    def test_an_empty_value_is_a_value(self, one: Coordination, other: Coordination) -> None:
        session = one.open_session(TTL)
        one.create(session, "a", b"")
        assert value_of(other.get("a")) == b""

    def test_one_creates_the_other_is_refused(self, one: Coordination, other: Coordination) -> None:
        one.create(one.open_session(TTL), "a", b"1")
        with pytest.raises(EntryExistsError):
            other.create(other.open_session(TTL), "a", b"2")
        assert value_of(other.get("a")) == b"1"

    def test_who_read_an_older_version_does_not_write(
        self, one: Coordination, other: Coordination
    ) -> None:
        session, others = one.open_session(TTL), other.open_session(TTL)
        first = one.create(session, "a", b"1")
        second = other.replace(others, "a", b"2", first.version)
        for write in (
            lambda: one.replace(session, "a", b"3", first.version),
            lambda: one.delete(session, "a", first.version),
            lambda: one.replace(session, "never", b"3", first.version),
            lambda: one.delete(session, "never", first.version),
        ):
            with pytest.raises(EntryChangedError):
                write()
        assert one.get("a") == second

    def test_a_deleted_entry_can_be_made_anew(self, one: Coordination) -> None:
        session = one.open_session(TTL)
        first = one.create(session, "a", b"1")
        one.delete(session, "a", first.version)
        with pytest.raises(EntryChangedError):
            one.replace(session, "a", b"2", first.version)
        assert value_of(one.create(session, "a", b"3")) == b"3"

    # --- Sessions ---

    def test_a_session_that_is_kept_alive_lives(self, world: World, one: Coordination) -> None:
        session = one.open_session(TTL)
        for _ in range(5):
            world.advance(TTL * 0.6)
            one.keep_alive(session)
        one.create(session, "a", b"1")

    def test_who_lost_its_session_cannot_write(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        session = one.open_session(TTL)
        entry = one.create(session, "a", b"1")
        world.advance(TTL * 1.1)
        for write in (
            lambda: one.keep_alive(session),
            lambda: one.create(session, "b", b"2"),
            lambda: one.create(session, "a", b"2"),
            lambda: one.replace(session, "a", b"2", entry.version),
            lambda: one.delete(session, "a", entry.version),
        ):
            with pytest.raises(SessionExpiredError):
                write()
        assert (other.get("a"), other.get("b")) == (entry, None)
        again = one.open_session(TTL)
        assert again != session
        one.replace(again, "a", b"2", entry.version)

    def test_a_session_that_was_never_opened_has_ended(self, one: Coordination) -> None:
        with pytest.raises(SessionExpiredError):
            one.create(one.open_session(TTL) + 1, "a", b"1")

    def test_a_closed_session_has_ended(self, one: Coordination, other: Coordination) -> None:
        session = one.open_session(TTL)
        one.create(session, "a", b"1", ephemeral=True)
        one.create(session, "b", b"1")
        one.close_session(session)
        one.close_session(session)
        assert (other.get("a"), value_of(other.get("b"))) == (None, b"1")
        with pytest.raises(SessionExpiredError):
            one.create(session, "c", b"1")

    def test_an_ephemeral_entry_goes_with_its_session_only(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        session, others = one.open_session(TTL), other.open_session(3 * TTL)
        mine = one.create(session, "a", b"1", ephemeral=True)
        assert mine.session == session
        kept = other.create(others, "b", b"1", ephemeral=True)
        changed = other.replace(others, "a", b"2", mine.version)
        assert changed.session == session
        one.keep_alive(session)
        assert other.get("a") == changed
        world.advance(TTL * 1.1)
        assert (other.get("a"), other.get("b")) == (None, kept)
        other.create(others, "a", b"3", ephemeral=True)

    # --- Changes ---

    def test_changes_are_seen_once(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        session = one.open_session(TTL)
        start = other.changes_since(0)
        assert start.keys == ()
        entry = one.create(session, "b", b"1")
        one.create(session, "a", b"1", ephemeral=True)
        first = other.changes_since(start.mark)
        assert first.keys == ("a", "b")
        assert other.changes_since(first.mark).keys == ()
        one.delete(session, "b", one.replace(session, "b", b"2", entry.version).version)
        second = other.changes_since(first.mark)
        assert second.keys == ("b",)
        world.advance(TTL * 1.1)
        third = other.changes_since(second.mark)
        assert third.keys == ("a",)
        assert other.changes_since(third.mark) == type(third)(third.mark, ())
        assert other.changes_since(start.mark).keys == ("a", "b")

    # --- The lease ---

    def lease(self, world: World, client: Coordination, owner: bytes) -> Lease:
        return Lease(client, "leader", owner, TTL, world.now)

    def test_one_holds_the_lease_until_it_lets_go(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        mine, yours = self.lease(world, one, b"one"), self.lease(world, other, b"other")
        assert (mine.acquire(), yours.acquire()) == (True, False)
        assert (mine.held_until, yours.held_until) == (world.now() + SURE, -math.inf)
        assert value_of(other.get("leader")) == b"one"
        world.advance(TTL * 0.6)
        assert mine.renew()
        assert mine.held_until == world.now() + SURE
        world.advance(TTL * 0.6)
        assert (yours.acquire(), mine.acquire()) == (False, True)
        mine.release()
        assert mine.held_until == -math.inf
        assert yours.acquire()

    def test_a_holder_whose_clock_is_slow_does_not_take_the_lease_to_be_held_for_too_long(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        slowly = 1 - CLOCKS_DIFFER / 2
        mine = Lease(one, "leader", b"one", TTL, lambda: world.now() * slowly)
        assert mine.acquire()
        world.advance(TTL)
        assert mine.held_until <= world.now() * slowly
        assert self.lease(world, other, b"other").acquire()

    def test_who_has_tried_in_vain_has_nothing_to_renew(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        mine, yours = self.lease(world, one, b"one"), self.lease(world, other, b"other")
        assert (mine.acquire(), yours.acquire()) == (True, False)
        assert not yours.renew()
        assert yours.held_until == -math.inf
        assert mine.renew()

    def test_a_lease_that_is_not_renewed_is_lost(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        mine, yours = self.lease(world, one, b"one"), self.lease(world, other, b"other")
        assert mine.acquire()
        session, held_until = mine.session, mine.held_until
        assert not yours.acquire()
        world.advance(TTL * 0.7)
        assert not yours.acquire()
        world.advance(TTL * 0.4)
        assert yours.acquire()
        assert world.now() >= held_until
        with pytest.raises(SessionExpiredError):
            next_epoch(one, session)
        assert not mine.renew()
        assert mine.held_until == -math.inf
        with pytest.raises(SessionExpiredError):
            next_epoch(one, mine.session)
        assert not mine.renew()
        assert not mine.acquire()
        yours.release()
        assert mine.acquire()
        assert mine.session != session

    def test_who_has_lost_the_lease_hears_of_it_before_it_gets_it_again(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        mine, yours = self.lease(world, one, b"one"), self.lease(world, other, b"other")
        assert (mine.hold(), mine.hold()) == (True, True)
        world.advance(TTL * 1.1)
        assert yours.hold()
        yours.release()
        assert (mine.hold(), mine.hold()) == (False, True)

    # --- Epochs and snapshots ---

    def test_epochs_ascend_whoever_takes_them(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        clients = (one, other, world.client(), one)
        taken = [next_epoch(client, client.open_session(TTL)) for client in clients]
        assert taken == [1, 2, 3, 4]

    def test_a_snapshot_is_committed_once_and_snapshots_ascend(
        self, world: World, one: Coordination, other: Coordination
    ) -> None:
        session, others = one.open_session(TTL), other.open_session(TTL)
        assert read_committed(other) is None
        first, second = Committed(4, "aa", 1), Committed(6, "cc", 2)
        commit_snapshot(one, session, first)
        commit_snapshot(one, session, first)
        for late in (Committed(4, "bb", 1), Committed(4, "aa", 2), Committed(3, "aa", 1)):
            with pytest.raises(CommitRefusedError):
                commit_snapshot(other, others, late)
        assert read_committed(other) == first
        commit_snapshot(other, others, second)
        with pytest.raises(CommitRefusedError) as raised:
            commit_snapshot(one, session, Committed(7, "dd", 1))
        assert str(raised.value) == (
            "snapshot 7 of epoch 1 is not committed: the newest is 6 of epoch 2"
        )
        world.advance(TTL * 1.1)
        with pytest.raises(SessionExpiredError):
            commit_snapshot(one, session, Committed(8, "ee", 2))
        assert read_committed(one) == second
