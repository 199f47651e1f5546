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

NEEDED = ("*.sst", "MANIFEST-*", "CURRENT", "rocksdict-config.json")
"""The files of a store without which no worker continues; all others may be lost."""

LOSABLE = ("6.json", "rocksdict-config.json")
"""Files that may be lost, but not damaged: an older snapshot, and what rocksdict then makes again."""

FLIPS = 2
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
    return [*flipped, data[: chance.randrange(len(data))], None]


def files_of(state: Path) -> list[Path]:
    """Return the manifests, and the files of one store of two; SQLite checks nothing, the commit in it is."""
    files = sorted((state / "snapshots").iterdir()) + sorted((state / "worker-0").iterdir())
    return [path for path in files if path.stat().st_size]


def is_needed(path: Path) -> bool:
    return path.suffix == ".json" or any(path.match(pattern) for pattern in NEEDED)


def test_no_damage_escapes_verification_and_keeps_a_job_from_continuing(
    whole: Path, tmp_path: Path
) -> None:
    """Bits are flipped at random places of every file, also where RocksDB works around damage."""
    chance = random.Random(11)
    state = tmp_path / "state"
    files = files_of(whole)
    assert {path.name for path in files} >= {"6.json", "7.json", "CURRENT", "checksums"}
    for path in files:
        shutil.copytree(whole, state)
        target = state / path.relative_to(whole)
        for content in damages(path.read_bytes(), chance):
            if content is None:
                target.unlink()
            else:
                target.write_bytes(content)
            may_be_lost = content is None and path.name in LOSABLE
            harmless = may_be_lost or not is_needed(path)
            assert verifies(state) == harmless, f"{path.name}: {content!r}"
        if not is_needed(path):
            assert is_usable(state), target.name
        shutil.rmtree(state)


def block_of(table: bytearray, name: bytes) -> int:
    """Return where a block of a table begins, whose name in its list of blocks is followed by that."""
    place = table.index(name) + len(name)
    begins, shift = 0, 0
    while True:
        begins |= (table[place] & 0x7F) << shift
        if table[place] < 0x80:
            return begins
        place, shift = place + 1, shift + 7


def test_a_flip_that_rocksdb_works_around_is_found_and_salvaged(whole: Path) -> None:
    """Without a filter, RocksDB looks into the table."""
    table = min((whole / "worker-0").glob("*.sst"))
    data = bytearray(table.read_bytes())
    data[block_of(data, b"rocksdb.BuiltinBloomFilter")] ^= 1
    table.write_bytes(data)
    assert can_be_read(whole)
    [newest, _] = inspect(whole, verify=True)
    assert newest.error is not None
    assert f'"{table}" is not as it was written' in newest.error.reason
    [replaced], snapshot = salvage_stores(whole)
    assert snapshot == 7
    assert replaced.whole == replaced.named
    assert verifies(whole)
    assert is_usable(whole)


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
    assert [each.worker for each in salvage_stores(whole).replaced] == [0]
    assert verifies(whole)
    assert is_usable(whole)
