"""Damage anywhere in the files of a snapshot is found, or does no harm; and salvaging makes them usable."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.console.snapshots import inspect, salvage_stores
from fsql.runtime.coordination.commits import read_committed
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.state.local_directory import LocalDirectory, local_snapshots
from fsql.runtime.state.snapshots import NoSnapshotError
from fsql.runtime.state.store import StateStoreError
from fsql.tests.unit.state.directories import POSITION, STATE, make_state
from fsql.tests.unit.state.naive_merge import state_of

if TYPE_CHECKING:
    from pathlib import Path

FLIPS = 6
"""How many places of each file are altered."""


@pytest.fixture(name="whole")
def whole_state(tmp_path: Path) -> Path:
    make_state(tmp_path / "whole")
    return tmp_path / "whole"


def verifies(state: Path) -> bool:
    """Say whether `fsql snapshot verify` finds nothing."""
    try:
        return all(found.error is None for found in inspect(state, verify=True))
    except FsqlError:
        return False


def can_be_read(state: Path) -> bool:
    """Say whether the newest snapshot is found, with its rows."""
    client = EmbeddedCoordination(state / FILE, create=False)
    committed = read_committed(client)
    client.close()
    snapshots = local_snapshots(state)
    try:
        found = snapshots.newest(committed).manifest
    except NoSnapshotError:
        return False
    assert found is not None
    loaded = snapshots.load(found.segments)
    rows = {operator: state_of(parts, POSITION) for operator, parts in loaded.items()}
    return found.snapshot == 7 and rows == STATE


def can_be_written(state: Path) -> bool:
    """Say whether workers can continue to write their stores."""
    try:
        for worker in (0, 1):
            store = LocalDirectory(state).open_store(worker)
            store.put({"another": b"value"})
            store.close()
    except StateStoreError:
        return False
    return True


def is_usable(state: Path) -> bool:
    """Say whether a job can continue from the newest snapshot."""
    return can_be_read(state) and can_be_written(state)


def damages(data: bytes, chance: random.Random) -> list[bytes | None]:
    """Return the content of a file with flipped bits, cut short, and None for the removed file."""
    flipped: list[bytes | None] = []
    for _ in range(FLIPS):
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        flipped.append(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
    return [*flipped, data[: chance.randrange(len(data))], b"", None]


def test_no_damage_escapes_verification_and_keeps_a_job_from_continuing(
    whole: Path, tmp_path: Path
) -> None:
    chance = random.Random(11)
    state = tmp_path / "state"
    outcomes = set()
    for path in sorted(whole.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        if not data or path.name == FILE:
            continue  # SQLite has no checksums; the commit in it has one
        for content in damages(data, chance):
            shutil.rmtree(state, ignore_errors=True)
            shutil.copytree(whole, state)
            target = state / path.relative_to(whole)
            if content is None:
                target.unlink()
            else:
                target.write_bytes(content)
            found = verifies(state)
            outcomes.add(found)
            assert not found or is_usable(state), f"{target.name}: {content!r}"
    assert outcomes == {True, False}


def test_damage_that_readers_do_not_meet_is_found_and_salvaged(whole: Path) -> None:
    """It is in a table with nothing that a manifest needs; RocksDB would stop writing once it met it."""
    store = LocalDirectory(whole).open_store(0)
    store.put({"needed/by/no/manifest": b"value"})
    store.close()
    table = max((whole / "worker-0").glob("*.sst"))
    data = table.read_bytes()
    table.write_bytes(data[:11] + bytes([data[11] ^ 1]) + data[12:])
    assert can_be_read(whole)
    assert not verifies(whole)
    assert [each.worker for each in salvage_stores(whole)] == [0]
    assert verifies(whole)
    assert is_usable(whole)
