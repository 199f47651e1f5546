"""A file that cannot be synced leaves no descriptors open."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.file.store import FileStore
from fsql.runtime.batch import START
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import OpenRequest

if TYPE_CHECKING:
    from pathlib import Path


class FailingDisk(FileLayer):
    """A disk on which nothing is ever known to be, from some time on."""

    def __init__(self) -> None:
        self.fails = False
        self.duplicates: set[int] = set()

    def duplicate(self, descriptor: int) -> int:
        made = super().duplicate(descriptor)
        self.duplicates.add(made)
        return made

    def sync(self, descriptor: int) -> None:
        if self.fails:
            raise OSError(errno.EIO, "Input/output error")
        super().sync(descriptor)

    def close(self, descriptor: int) -> None:
        self.duplicates.discard(descriptor)
        super().close(descriptor)


def test_a_sync_that_fails(tmp_path: Path) -> None:
    disk = FailingDisk()
    store = FileStore(tmp_path / "out", tmp_path / "journal", disk)
    store.open(OpenRequest(1, START, DeliveryOption.EXACTLY_ONCE))
    disk.fails = True
    with pytest.raises(FsqlError):
        store.sync()
    assert disk.duplicates == set()
    disk.fails = False
    store.close()
