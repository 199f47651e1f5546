"""Large pieces are written by another thread, while the next one is made."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.file.line_file import LineFile
from fsql.connectors.file.overlapped_writes import OVERLAPPED_BYTES_MIN
from fsql.connectors.file.store import FileStore
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery import DeliveryOption
from fsql.runtime.sink import OpenRequest, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPENING = OpenRequest(1, START, DeliveryOption.EXACTLY_ONCE)
LARGE = OVERLAPPED_BYTES_MIN
PIECES = [b"a" * LARGE, b"b" * 10, b"c" * (3 * LARGE), b"d" * LARGE, b"", b"e"]
FAILED_AFTER = 60.0


class SlowDisk(FileLayer):
    """A disk that ends a large write when the piece after it has been made."""

    def __init__(self) -> None:
        self.next_made = threading.Event()
        self.is_writing = False

    def write(self, descriptor: int, data: memoryview, start: int) -> None:
        self.is_writing = True
        if len(data) >= LARGE:
            assert self.next_made.wait(FAILED_AFTER), "the next piece waits for the write"
            self.next_made.clear()
        super().write(descriptor, data, start)
        self.is_writing = False


class FullDisk(FileLayer):
    """A disk without room for the second piece."""

    def write(self, descriptor: int, data: memoryview, start: int) -> None:
        if start:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(descriptor, data, start)


def large_pieces(disk: SlowDisk, count: int) -> Iterator[memoryview]:
    """Yield large pieces; from the second one on each ends the write of the one before."""
    for number in range(count):
        if number:
            disk.next_made.set()
        yield memoryview(bytes([97 + number]) * LARGE)
    disk.next_made.set()


def test_the_next_piece_is_made_while_one_is_written(tmp_path: Path) -> None:
    disk = SlowDisk()
    store = FileStore(tmp_path / "out", tmp_path / "journal", disk)
    store.open(OPENING)
    store.append(large_pieces(disk, 4))
    assert not disk.is_writing
    store.commit(Root(1, 0))
    store.close()
    assert (tmp_path / "out").read_bytes() == b"".join(bytes([97 + i]) * LARGE for i in range(4))


@pytest.mark.parametrize("kind", ["file with a journal", "file"])
def test_pieces_of_all_sizes_are_written_in_order(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "out"
    store = LineFile(path) if kind == "file" else FileStore(path, tmp_path / "journal")
    store.open(OPENING)
    for _ in range(2):
        store.append(map(memoryview, PIECES))
        store.commit(Root(1, 0))
    store.close()
    assert path.read_bytes() == b"".join(PIECES) * 2


def test_a_write_that_fails_is_reported_before_the_append_returns(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "out", tmp_path / "journal", FullDisk())
    store.open(OPENING)
    with pytest.raises(SinkLostError, match="No space left on device"):
        store.append([memoryview(b"a" * LARGE), memoryview(b"b" * LARGE)])
    store.close()


def test_nothing_is_written_after_an_encoder_has_failed(tmp_path: Path) -> None:
    disk = SlowDisk()

    def pieces() -> Iterator[memoryview]:
        yield memoryview(b"a" * LARGE)
        disk.next_made.set()
        raise FsqlError([Diagnostic("E535", "a row is too long")])

    store = FileStore(tmp_path / "out", tmp_path / "journal", disk)
    store.open(OPENING)
    with pytest.raises(FsqlError, match="E535"):
        store.append(pieces())
    assert not disk.is_writing
    store.close()
    assert (tmp_path / "out").read_bytes() == b"a" * LARGE
