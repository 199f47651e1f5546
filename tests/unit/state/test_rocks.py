"""The store of RocksDB: all or none, durable, and never silently less than was put."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.state.rocks import SLICE_BYTES, RocksStore
from fsql.runtime.state.store import StateStoreError, StoreInUseError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BIG = random.Random(1).randbytes(3 * SLICE_BYTES + 17)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let the operating system refuse to write more into a file, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def store_in(directory: Path, *, read_only: bool = False) -> Iterator[RocksStore]:
    store = RocksStore(directory, read_only=read_only)
    try:
        yield store
    finally:
        store.close()


def read(store: RocksStore, *keys: str) -> list[bytes | None]:
    return [None if (value := store.get(key)) is None else bytes(value) for key in keys]


def contents(directory: Path) -> dict[str, bytes]:
    with store_in(directory) as store:
        return {key: bytes(store.get(key) or b"") for key in store.keys()}  # noqa: SIM118


@pytest.mark.parametrize(
    "size", [0, 1, SLICE_BYTES - 1, SLICE_BYTES, SLICE_BYTES + 1, 20 * SLICE_BYTES]
)
def test_a_value_of_any_size_comes_back(size: int, tmp_path: Path) -> None:
    value = random.Random(size).randbytes(size)
    with store_in(tmp_path / "db") as store:
        store.put({"a": value})
        assert read(store, "a") == [value]
    assert contents(tmp_path / "db") == {"a": value}


def test_values_are_replaced_and_removed(tmp_path: Path) -> None:
    with store_in(tmp_path / "db") as store:
        assert (read(store, "a"), store.keys()) == ([None], ())
        store.put({"b/é": b"1", "a": BIG, "c": memoryview(BIG)[1:]})
        store.put({"a": b"2"})
        store.remove(["c", "never there"])
        assert store.keys() == ("a", "b/é")
        assert read(store, "a", "b/é", "c") == [b"2", b"1", None]
        store.put({"d": b""})
    assert contents(tmp_path / "db") == {"a": b"2", "b/é": b"1", "d": b""}


def test_more_than_the_memory_table_holds_is_put_at_once(tmp_path: Path) -> None:
    values = {f"{number:02}": random.Random(number).randbytes(12 << 20) for number in range(8)}
    with store_in(tmp_path / "db") as store:
        store.put(values)
    assert contents(tmp_path / "db") == values


def test_what_is_removed_gives_its_space_back(tmp_path: Path) -> None:
    value = random.Random(0).randbytes(1 << 20)
    with store_in(tmp_path / "db") as store:
        for number in range(60):
            store.put({str(number): value})
            store.remove([str(number - 1)])
        store.put({"last": b""})
    with store_in(tmp_path / "db"):
        pass
    used = sum(path.stat().st_size for path in (tmp_path / "db").iterdir())
    assert used < 20 << 20


# --- Crashes ---

WRITER = """
import sys
from pathlib import Path
from fsql.runtime.state.rocks import RocksStore
store = RocksStore(Path(sys.argv[1]))
number = int(sys.argv[2])
while True:
    value = number.to_bytes(4, "big") * 150_000
    store.put({f"{number:06d}/a": value, f"{number:06d}/b": value})
    print(number, flush=True)
    store.remove([f"{number - 3:06d}/a", f"{number - 3:06d}/b"])
    number += 1
"""


def test_a_killed_writer_leaves_what_it_was_told_is_stored(tmp_path: Path) -> None:
    chance = random.Random(5)
    number = 0
    for _ in range(6):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "db"), str(number)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(chance.randrange(1, 5))]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        writer.stdout.close()
        found = contents(tmp_path / "db")
        pairs = {int(key[:6]) for key in found}
        assert set(found) == {f"{each:06d}/{half}" for each in pairs for half in "ab"}
        assert set(told[-3:]) <= pairs
        for key, value in found.items():
            assert value == int(key[:6]).to_bytes(4, "big") * 150_000
        number = told[-1] + 2


# --- A full disk ---


def test_a_full_disk_stores_nothing_and_harms_nothing(tmp_path: Path) -> None:
    with store_in(tmp_path / "db") as store:
        store.put({"a": BIG, "b": b"1"})
        for attempt in range(3):
            with (
                files_up_to(SLICE_BYTES),
                pytest.raises(StateStoreError, match="File too large"),
            ):
                store.put({"b": b"2", f"c{attempt}": BIG})
            assert store.keys() == ("a", "b")
            assert read(store, "a", "b") == [BIG, b"1"]
        store.put({"d": BIG})
    assert contents(tmp_path / "db") == {"a": BIG, "b": b"1", "d": BIG}


# --- What cannot be opened ---


def test_to_read_a_store_it_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StateStoreError) as raised:
        RocksStore(tmp_path / "db", read_only=True)
    assert str(raised.value) == f'"{tmp_path / "db"}" holds no state store'
    assert list(tmp_path.iterdir()) == []


def test_who_only_reads_writes_nothing_beside_the_store(tmp_path: Path) -> None:
    """So a store on a disk that is read-only can be read."""
    with store_in(tmp_path / "db") as store:
        store.put({"a": b"1"})
    for name in ("rocksdict-config.json", "LOCK"):
        (tmp_path / "db" / name).unlink()
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "db").iterdir()}
    with store_in(tmp_path / "db", read_only=True) as store:
        assert bytes(store.get("a") or b"") == b"1"
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "db").iterdir()} == before


def test_a_file_in_the_place_of_the_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"")
    with pytest.raises(StateStoreError, match="cannot open the state store"):
        RocksStore(tmp_path / "db")


def test_a_directory_without_permission_is_told(tmp_path: Path) -> None:
    root = os.geteuid() == 0
    (tmp_path / "closed").mkdir(mode=0o555)
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(StateStoreError, match=r"ermission denied"):
            RocksStore(tmp_path / "closed" / "db")
    finally:
        if root:
            os.seteuid(0)


OPENER = """
import sys
from pathlib import Path
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.store import StateStoreError
try:
    RocksStore(Path(sys.argv[1]))
except StateStoreError as error:
    print(f"{type(error).__name__}: {error}")
"""


def test_a_store_has_one_writer_and_many_readers(tmp_path: Path) -> None:
    with store_in(tmp_path / "db") as store:
        store.put({"a": BIG})
        with pytest.raises(StoreInUseError) as raised:
            RocksStore(tmp_path / "db")
        in_use = f'cannot open the state store "{tmp_path / "db"}": it is in use'
        assert str(raised.value) == in_use
        command = [sys.executable, "-c", OPENER, str(tmp_path / "db")]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        assert process.stdout == f"StoreInUseError: {in_use}\n"
        with (
            store_in(tmp_path / "db", read_only=True) as one,
            store_in(tmp_path / "db", read_only=True) as other,
        ):
            assert read(one, "a") == read(other, "a") == [BIG]
            store.put({"b": b"1"})


# --- Damage ---


def test_no_damaged_byte_changes_a_value(tmp_path: Path) -> None:
    """Each place is altered in turn; what is read then is right, missing, or an error."""
    with store_in(tmp_path / "db") as store:
        store.put({"a": BIG, "b": b"1"})
        store.put({"c": b"2"})
    chance = random.Random(3)
    outcomes = set()
    for path in sorted((tmp_path / "db").iterdir()):
        if path.name.startswith(("LOG", "LOCK", "OPTIONS", "rocksdict")) or path.suffix == ".log":
            continue
        whole = path.read_bytes()
        places = [chance.randrange(len(whole)) for _ in range(12)]
        altered = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places]
        for data in [*altered, whole[: len(whole) // 2], b""]:
            path.write_bytes(data)
            outcomes.add(_read_all(tmp_path / "db"))
        path.unlink()
        outcomes.add(_read_all(tmp_path / "db"))
        path.write_bytes(whole)
    assert _read_all(tmp_path / "db") == "right"
    assert {"error", "right"} <= outcomes <= {"error", "right", "missing"}


def _read_all(directory: Path) -> str:
    try:
        with store_in(directory, read_only=True) as store:
            found = {key: store.get(key) for key in ("a", "b", "c")}
            keys = store.keys()
    except StateStoreError:
        return "error"
    whole = {"a": BIG, "b": b"1", "c": b"2"}
    assert {key: whole[key] for key, value in found.items() if value is not None} == {
        key: value for key, value in found.items() if value is not None
    }
    assert set(keys) == {key for key, value in found.items() if value is not None}
    return "right" if len(keys) == 3 else "missing"
