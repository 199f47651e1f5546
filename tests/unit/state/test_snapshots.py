"""Snapshots on disk: what was committed is found again, or an older one, or an error; never nothing."""

from __future__ import annotations

import json
import random
import resource
import shutil
from pathlib import Path

import msgspec
import pytest

from fsql.compiler.owner_map import ALL_BINS
from fsql.runtime.cluster.snapshots.manifest import (
    FORMAT,
    READ,
    Manifest,
    StateSegment,
    manifest_bytes,
    manifest_hash,
    manifest_of,
)
from fsql.runtime.coordination.commits import Committed, read_committed
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.state.local_directory import local_snapshots, worker_directory
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.snapshots import (
    DamagedSnapshotError,
    NoSnapshotError,
    OtherFormatSnapshotError,
    SnapshotNotWrittenError,
)
from fsql.tests.unit.state.directories import POSITION, STATE, make_state, manifest
from fsql.tests.unit.state.naive_merge import state_of

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())


@pytest.fixture(name="state")
def state_directory(tmp_path: Path) -> Path:
    make_state(tmp_path / "state")
    return tmp_path / "state"


def newest_committed(state: Path) -> Committed:
    client = EmbeddedCoordination(state / FILE, create=False)
    found = read_committed(client)
    client.close()
    assert found is not None
    return found


def rows(state: Path, manifest: Manifest) -> dict[str, object]:
    loaded = local_snapshots(state).load(manifest.segments)
    return {operator: state_of(snapshots, POSITION) for operator, snapshots in loaded.items()}


def segment(key: str, worker: int = 0) -> StateSegment:
    return StateSegment(worker, key, "f", 1, 0, 1, 1, "00", ALL_BINS)


def with_format(data: bytes, number: int) -> bytes:
    fields = json.loads(data.partition(b"\n")[0])
    body = json.dumps({**fields, "format": number, "records": "in another way"}).encode()
    return body + b"\n" + manifest_hash(body).encode() + b"\n"


def files(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "snapshots").iterdir())


# --- Restoring ---


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_a_snapshot_of_an_earlier_version_is_restored(golden: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(golden, state)
    found = local_snapshots(state).newest(newest_committed(state))
    assert found.refused == ()
    assert found.manifest is not None
    assert found.manifest == manifest(7, found.manifest.segments)
    assert rows(state, found.manifest) == STATE


def test_the_format_has_a_golden_snapshot() -> None:
    assert [path.name for path in GOLDEN] == [f"format-{number}" for number in READ]
    assert READ[-1] == FORMAT


def test_the_newest_snapshot_is_found(state: Path) -> None:
    found = local_snapshots(state).newest(newest_committed(state))
    assert found.manifest is not None
    assert (found.manifest.snapshot, found.refused) == (7, ())
    assert rows(state, found.manifest) == STATE


def test_without_a_committed_snapshot_there_is_none(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    assert snapshots.numbers() == ()
    assert snapshots.newest(None) == (None, ())
    snapshots.write(manifest(1, ()))
    assert snapshots.newest(None) == (None, ())


def test_what_was_written_and_not_committed_does_not_count(state: Path) -> None:
    snapshots = local_snapshots(state)
    snapshots.write(manifest(8, ()))
    assert snapshots.numbers() == (8, 7, 6)
    found = snapshots.newest(newest_committed(state))
    assert found.manifest is not None
    assert found.manifest.snapshot == 7


# --- Damage ---


def damage_nothing_of_6(state: Path, how: str) -> None:
    """Damage snapshot 7 so that 6 still verifies."""
    path = local_snapshots(state).path(7)
    data = path.read_bytes()
    match how:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(data[:-30])
        case "flipped":
            path.write_bytes(data.replace(b'"rows":2', b'"rows":3'))
        case "another":
            path.write_bytes(manifest_bytes(manifest(7, ())))
        case "renamed":
            shutil.copy(local_snapshots(state).path(6), path)
        case "segment":
            store = RocksStore(worker_directory(state, 1))
            store.remove(["00000005/000000000007/join/2"])
            store.put({"x": b""})
            store.close()
        case _:
            raise AssertionError(how)


KEY = "00000005/000000000007/join/2"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("missing", "it is missing"),
        ("empty", "its hash does not match"),
        ("cut", "its hash does not match"),
        ("flipped", "its hash does not match"),
        ("another", "another one was committed"),
        ("renamed", "it is the manifest of snapshot 6"),
        ("segment", f'state segment "{KEY}" of worker 1: it is missing from the store'),
    ],
)
def test_where_the_newest_is_damaged_the_one_before_is_found(
    state: Path, how: str, reason: str
) -> None:
    damage_nothing_of_6(state, how)
    found = local_snapshots(state).newest(newest_committed(state))
    assert found.manifest is not None
    assert found.manifest.snapshot == 6
    (refused,) = found.refused
    assert str(refused) == f'snapshot 7 ("{local_snapshots(state).path(7)}"): {reason}'
    assert (refused.segment is not None) is (how == "segment")


@pytest.mark.parametrize("how", ["store", "list of files", "tables", "manifests"])
def test_where_none_verifies_that_is_an_error_and_no_empty_state(state: Path, how: str) -> None:
    directory = worker_directory(state, 0)
    match how:
        case "store":
            shutil.rmtree(directory)
        case "list of files":
            (listing,) = directory.glob("MANIFEST-*")
            listing.write_bytes(listing.read_bytes()[:60])
        case "tables":
            for table in directory.glob("*.sst"):
                table.unlink()
        case "manifests":
            shutil.rmtree(state / "snapshots")
        case _:
            raise AssertionError(how)
    with pytest.raises(NoSnapshotError) as raised:
        local_snapshots(state).newest(newest_committed(state))
    refused = [7] if how == "manifests" else [7, 6]
    assert [each.snapshot for each in raised.value.refused] == refused


def test_no_altered_byte_of_a_store_alters_the_state(state: Path) -> None:
    chance = random.Random(4)
    snapshots = local_snapshots(state)
    newest = newest_committed(state)
    outcomes = set()
    for path in sorted(worker_directory(state, 0).iterdir()):
        if not path.name.startswith(("MANIFEST", "CURRENT")) and path.suffix != ".sst":
            continue
        whole = path.read_bytes()
        for place in (chance.randrange(len(whole)) for _ in range(12)):
            path.write_bytes(
                whole[:place]
                + bytes([whole[place] ^ 1 << chance.randrange(8)])
                + whole[place + 1 :]
            )
            try:
                found = snapshots.newest(newest)
            except NoSnapshotError:
                outcomes.add("none")
                continue
            assert found.manifest is not None
            outcomes.add(str(found.manifest.snapshot))
            if found.manifest.snapshot == 7:
                assert rows(state, found.manifest) == STATE
        path.write_bytes(whole)
    assert {"6", "none"} <= outcomes <= {"7", "6", "none"}


def test_no_altered_manifest_is_read(state: Path) -> None:
    snapshots = local_snapshots(state)
    path = snapshots.path(7)
    whole = path.read_bytes()
    cuts = [whole[:length] for length in range(len(whole))]
    flips = [
        whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        for place in range(len(whole))
    ]
    for data in [*cuts, *flips, whole + b"x", whole * 2]:
        path.write_bytes(data)
        with pytest.raises(DamagedSnapshotError):
            snapshots.read(7)


def test_a_snapshot_of_another_format_is_refused_and_no_older_one_taken(state: Path) -> None:
    snapshots = local_snapshots(state)
    path = snapshots.path(7)
    path.write_bytes(with_format(path.read_bytes(), FORMAT + 1))
    reason = f"its format is {FORMAT + 1}, and this is {FORMAT}"
    for refuse in (
        lambda: snapshots.newest(newest_committed(state)),
        lambda: snapshots.retire(7),
        lambda: snapshots.referenced_keys(0),
    ):
        with pytest.raises(OtherFormatSnapshotError) as raised:
            refuse()
        assert (raised.value.snapshot, raised.value.reason) == (7, reason)
    assert snapshots.numbers() == (7, 6)


def test_a_body_that_is_no_manifest_is_refused(state: Path) -> None:
    path = local_snapshots(state).path(7)
    for body in (b"", b"null", b"[]", b'{"format":%d}' % FORMAT, b'{"format":"3"}', b"\xff"):
        path.write_bytes(body + b"\n" + manifest_hash(body).encode() + b"\n")
        with pytest.raises(DamagedSnapshotError) as raised:
            local_snapshots(state).read(7)
        assert not isinstance(raised.value, OtherFormatSnapshotError)


# --- Writing ---


def test_a_manifest_is_written_all_at_once(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    wanted = manifest(3, (segment("a"),))
    found = snapshots.write(wanted)
    assert snapshots.read(3, Committed(3, found, 5)) == wanted
    assert files(tmp_path) == ["3.json"]
    again = msgspec.structs.replace(wanted, epoch=9)
    assert snapshots.write(again) != found
    assert snapshots.read(3) == again
    assert manifest_of(snapshots.path(3).read_bytes()) == again


def test_on_a_full_disk_nothing_is_left_and_the_old_manifest_stays(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    old = manifest(3, (segment("a"),))
    snapshots.write(old)
    large = manifest(3, tuple(segment(f"{number:0100}") for number in range(100)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(SnapshotNotWrittenError) as raised:
            snapshots.write(large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(raised.value) == f'cannot write "{snapshots.path(3)}": File too large'
    assert files(tmp_path) == ["3.json"]
    assert snapshots.read(3) == old
    snapshots.write(large)
    assert snapshots.read(3) == large


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotWrittenError, match="No such file or directory"):
        local_snapshots(tmp_path / "missing").write(manifest(1, ()))


def test_what_a_crash_left_half_written_does_not_count(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    snapshots.write(manifest(1, ()))
    for name in ("2.json.partial", "03.json", "x.json", "4.json~", "5"):
        (tmp_path / "snapshots" / name).write_bytes(b"{")
    assert snapshots.numbers() == (1,)


# --- Retention ---


def test_the_newest_two_stay_and_segments_of_no_other_are_unneeded(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    states = {
        1: (segment("a"), segment("b", 1)),
        2: (segment("a"), segment("c", 1)),
        3: (segment("d"), segment("c", 1)),
        4: (segment("d"), segment("e"), segment("c", 1)),
    }
    assert snapshots.retire(0) == {}
    unneeded = []
    for number, segments in states.items():
        snapshots.write(manifest(number, segments))
        unneeded.append(snapshots.retire(number))
    assert unneeded == [{}, {}, {1: ("b",)}, {0: ("a",)}]
    assert snapshots.numbers() == (4, 3)
    assert snapshots.referenced_keys(0) == {"d", "e"}
    assert snapshots.referenced_keys(1) == {"c"}


def test_stores_of_workers_that_are_no_more_go_with_the_last_manifest_that_needs_them(
    tmp_path: Path,
) -> None:
    snapshots = local_snapshots(tmp_path)
    for name in ("worker-0", "worker-1", "worker-2", "worker-2.damaged", "positions"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    left = []
    for number, worker in enumerate((2, 0, 0), 1):
        snapshots.write(manifest(number, (segment(f"key-{number}", worker),)))
        snapshots.retire(number)
        left.append((tmp_path / "worker-2").exists())
    assert left == [True, True, False]
    others = ["positions", "snapshots", "worker-0", "worker-1", "worker-2.damaged"]
    assert sorted(path.name for path in tmp_path.iterdir()) == others


def test_what_is_damaged_is_no_snapshot_to_keep(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    for number in range(1, 6):
        snapshots.write(manifest(number, (segment(f"key-{number}"),)))
    snapshots.path(4).write_bytes(b"")
    snapshots.path(2).write_bytes(b"")
    assert snapshots.retire(5) == {0: ("key-1",)}
    assert snapshots.numbers() == (5, 4, 3)


def test_an_uncommitted_snapshot_keeps_its_segments(tmp_path: Path) -> None:
    snapshots = local_snapshots(tmp_path)
    for number, keys in {1: "ab", 2: "c", 3: "c", 4: "a"}.items():
        snapshots.write(manifest(number, tuple(segment(key) for key in keys)))
    (tmp_path / "snapshots" / "9.json.partial").write_bytes(b"{")
    assert snapshots.retire(3) == {0: ("b",)}
    assert files(tmp_path) == ["2.json", "3.json", "4.json"]
