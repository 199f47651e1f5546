"""A state directory on the local file system, with stores in RocksDB."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.snapshots.manifest import own_store, store_parts
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.snapshots import Snapshots

if TYPE_CHECKING:
    from pathlib import Path

_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_STORE: Final = re.compile(r"worker-(0|[1-9][0-9]*)(?:\.([1-9][0-9]*))?")


def worker_directory(state: Path, worker: int) -> Path:
    """Return the directory of a store, which is named for its worker, and for the epoch that made it."""
    number, epoch = store_parts(worker)
    return state / (f"worker-{number}.{epoch}" if epoch else f"worker-{number}")


def sync_directory(directory: Path) -> None:
    """Make renames and deletions in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def local_snapshots(state: Path) -> Snapshots:
    """Return the snapshots in a state directory on the local file system."""
    return Snapshots(LocalDirectory(state))


class LocalDirectory:
    """A `StateDirectory` on the local file system."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self, directory: str) -> tuple[str, ...]:
        """Return the names of the files in a directory; none if it does not exist."""
        try:
            return tuple(os.listdir(self.path / directory))  # noqa: PTH208 - `iterdir` raises later
        except FileNotFoundError:
            return ()

    def make_directory(self, directory: str) -> None:
        """Make a directory durably, if it does not exist."""
        path = self.path / directory
        if not path.is_dir():
            path.mkdir(mode=0o700)
            sync_directory(path.parent)

    def read(self, name: str, start: int = 0) -> bytes:
        """Return the content of a file from byte `start` on."""
        with (self.path / name).open("rb") as file:
            file.seek(start)
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        """Create a file or replace its content."""
        (self.path / name).write_bytes(data)

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, which is created if it does not exist."""
        descriptor = os.open(self.path / name, _APPEND, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def sync(self, name: str) -> None:
        """Make the content of a file durable, or the names in a directory."""
        sync_directory(self.path / name)

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file, and replace the one that has the new name."""
        (self.path / name).replace(self.path / new_name)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def stores(self) -> tuple[int, ...]:
        """Return the numbers of the workers that have a store, ascending."""
        found = (_STORE.fullmatch(name) for name in self.names(""))
        stores = (own_store(int(match[1]), int(match[2] or 0)) for match in found if match)
        return tuple(sorted(stores))

    def store_path(self, worker: int) -> Path:
        """Return the path of the store of a worker."""
        return worker_directory(self.path, worker)

    def open_store(self, worker: int, *, read_only: bool = False) -> RocksStore:
        """Open the store of a worker."""
        return RocksStore(worker_directory(self.path, worker), read_only=read_only)

    def remove_store(self, worker: int) -> None:
        """Remove the store of a worker; files that cannot be removed now are left."""
        shutil.rmtree(worker_directory(self.path, worker), ignore_errors=True)
