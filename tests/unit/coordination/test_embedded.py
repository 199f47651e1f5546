"""Coordination in SQLite: the suite, and files that are missing, damaged, full or of another version."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.coordination.embedded import FORMAT, EmbeddedCoordination
from fsql.runtime.coordination.port import (
    CoordinationUnavailableError,
    DamagedCoordinationError,
    SessionExpiredError,
)
from fsql.tests.unit.coordination.conformance import TTL, Conformance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class EmbeddedWorld:
    """A `World` in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._now = 100.0
        self._clients: list[EmbeddedCoordination] = []

    def client(self, *, create: bool = True) -> EmbeddedCoordination:
        client = EmbeddedCoordination(self.path, create=create, clock=self.now, busy_seconds=0.2)
        self._clients.append(client)
        return client

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def now(self) -> float:
        return self._now

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture(name="world")
def embedded_world(tmp_path: Path) -> Iterator[EmbeddedWorld]:
    world = EmbeddedWorld(tmp_path / "coordination.sqlite")
    yield world
    world.close()


class TestEmbedded(Conformance):
    """The suite, over one file."""


def test_everything_outlives_the_processes(world: EmbeddedWorld) -> None:
    one = world.client()
    session = one.open_session(TTL)
    entry = one.create(session, "a", b"1", ephemeral=True)
    one.close()
    other = world.client(create=False)
    assert other.get("a") == entry
    other.keep_alive(session)


def test_sessions_of_another_life_of_the_machine_have_ended(world: EmbeddedWorld) -> None:
    one = world.client()
    session = one.open_session(TTL)
    one.create(session, "a", b"1", ephemeral=True)
    world.advance(-50)
    assert one.get("a") is None
    with pytest.raises(SessionExpiredError):
        one.keep_alive(session)


def test_a_writer_that_does_not_finish_is_waited_for_and_told(world: EmbeddedWorld) -> None:
    one = world.client()
    session = one.open_session(TTL)
    entry = one.create(session, "a", b"1")
    holder = sqlite3.connect(world.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(CoordinationUnavailableError) as raised:
        one.replace(session, "a", b"2", entry.version)
    assert str(raised.value) == (
        f'cannot use the coordination file "{world.path}": another process keeps it locked'
    )
    assert one.get("a") == entry
    holder.execute("ROLLBACK")
    holder.close()
    one.replace(session, "a", b"2", entry.version)


# --- What cannot be opened ---


def test_a_missing_file_is_not_a_new_one(world: EmbeddedWorld) -> None:
    with pytest.raises(DamagedCoordinationError) as raised:
        world.client(create=False)
    assert str(raised.value) == f'the coordination file "{world.path}" is missing'
    assert not world.path.exists()


def test_an_empty_file_is_not_a_new_one_unless_made_now(world: EmbeddedWorld) -> None:
    world.path.touch()
    with pytest.raises(DamagedCoordinationError, match="is damaged: it is empty"):
        world.client(create=False)
    assert world.client().get("a") is None


def test_another_format_is_refused(world: EmbeddedWorld) -> None:
    world.client().close()
    connection = sqlite3.connect(world.path)
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()
    with pytest.raises(DamagedCoordinationError) as raised:
        world.client()
    assert str(raised.value).endswith(
        f"is damaged: its format is {FORMAT + 1}, and this is {FORMAT}"
    )


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_whose_tables_are_being_created_is_waited_for(
    world: EmbeddedWorld, monkeypatch: pytest.MonkeyPatch, *, read_only: bool
) -> None:
    world.path.touch()

    def create_tables(_: float) -> None:
        one = world.client()
        one.create(one.open_session(TTL), "a", b"1")
        one.close()

    with monkeypatch.context() as patched:
        patched.setattr("fsql.runtime.coordination.embedded.time.sleep", create_tables)
        other = EmbeddedCoordination(world.path, create=False, read_only=read_only)
    found = other.get("a")
    other.close()
    assert found is not None
    assert found.value == b"1"


def test_another_database_is_refused(world: EmbeddedWorld) -> None:
    connection = sqlite3.connect(world.path)
    connection.execute("CREATE TABLE entries (x)")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.close()
    with pytest.raises(DamagedCoordinationError, match="no such column: key"):
        world.client().get("a")


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CoordinationUnavailableError, match="unable to open database file"):
        EmbeddedWorld(tmp_path / "missing" / "coordination.sqlite").client()


def test_a_file_without_permission_is_told(world: EmbeddedWorld) -> None:
    world.client().close()
    world.path.chmod(0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises((CoordinationUnavailableError, PermissionError)):
            world.client(create=False)
    finally:
        if root:
            os.seteuid(0)


def test_a_full_disk_is_told_and_harms_nothing(world: EmbeddedWorld) -> None:
    one = world.client()
    session = one.open_session(TTL)
    entry = one.create(session, "a", b"1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 15, hard))
    try:
        with pytest.raises(CoordinationUnavailableError):
            one.create(session, "b", b"x" * (1 << 17))
        assert one.get("a") == entry
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert one.get("b") is None
    one.create(session, "b", b"x" * (1 << 17))


# --- Damage ---


def test_no_altered_byte_changes_an_entry(world: EmbeddedWorld, tmp_path: Path) -> None:
    """Of the file, and of the log beside it: what is read then is right, or an error."""
    one = world.client()
    session = one.open_session(TTL)
    for number in range(20):
        one.create(session, f"key-{number}", b"value-%d" % number * 20)
    wanted = {f"key-{number}": b"value-%d" % number * 20 for number in range(20)}
    chance = random.Random(11)
    outcomes = []
    for name in (world.path.name, f"{world.path.name}-wal"):
        size = (tmp_path / name).stat().st_size
        for place in (chance.randrange(size) for _ in range(150)):
            altered = tmp_path / "altered"
            altered.mkdir()
            for suffix in ("", "-wal"):
                shutil.copy(f"{world.path}{suffix}", altered)
            data = bytearray((altered / name).read_bytes())
            data[place] ^= 1 << chance.randrange(8)
            (altered / name).write_bytes(data)
            outcomes.append(_read_all(altered / world.path.name, wanted))
            shutil.rmtree(altered)
    assert set(outcomes) == {"right", "damaged"}


def _read_all(path: Path, wanted: dict[str, bytes]) -> str:
    try:
        client = EmbeddedCoordination(path, create=False, clock=lambda: 100.0)
    except DamagedCoordinationError:
        return "damaged"
    try:
        found = {key: client.get(key) for key in wanted}
    except DamagedCoordinationError:
        return "damaged"
    finally:
        client.close()
    assert {key: entry and entry.value for key, entry in found.items()} == wanted
    return "right"


def test_a_file_that_was_cut_short_is_told(world: EmbeddedWorld) -> None:
    one = world.client()
    session = one.open_session(TTL)
    for number in range(50):
        one.create(session, f"key-{number}", b"x" * 1000)
    one.close()
    whole = world.path.read_bytes()
    for length in (len(whole) - 4096, len(whole) // 2, 4096, 100, 1):
        world.path.write_bytes(whole[:length])
        with pytest.raises(DamagedCoordinationError):
            world.client(create=False).get("key-1")
