"""The state directory on a simulated disk: a `StateDirectory`, and the stores in it.

Snapshots, segments and garbage collection are those of `fsql.runtime.state`; only files, and a store that
keeps each value in a file, are simulated.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from fsql.runtime.state.store import StateStoreError, StoreInUseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fsql.runtime.cluster.snapshots.manifest import StateSegment
    from fsql.runtime.simulation.disk import Disk
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.state.store import Octets

_WORKER: Final = "worker-"


class SimulatedDirectory:
    """A `StateDirectory` of one process, or of an observer outside of the cluster."""

    path: Any = PurePosixPath("state")

    def __init__(
        self,
        disk: Disk,
        process: Process | None = None,
        takes_us: Callable[[], int] = lambda: 0,
        open_stores: dict[int, str] | None = None,
    ) -> None:
        """Open it; `open_stores` are the stores that processes have open for writing."""
        self._disk = disk
        self._process = process
        self._life = 0 if process is None else process.life
        self._takes_us = takes_us
        self._open_stores = {} if open_stores is None else open_stores

    def wait(self) -> None:
        """Charge the process for the disk, once for operations that are done together."""
        if self._process is not None:
            self._process.check(self._life)
            self._process.charge(self._takes_us(), shared=True)

    def call(self, name: str) -> None:
        """Record that the process changes something on the disk, and charge it for that."""
        if self._process is not None:
            self._process.call(self._life, name)
        self.wait()

    def names(self, directory: str) -> tuple[str, ...]:
        """See `StateDirectory`."""
        return tuple(path.rpartition("/")[2] for path in self._disk.paths(directory))

    def make_directory(self, directory: str) -> None:
        """See `StateDirectory`; a directory exists while it has files."""

    def read(self, name: str, start: int = 0) -> bytes:
        """See `StateDirectory`."""
        self.wait()
        return self._disk.read(name)[start:]

    def write(self, name: str, data: bytes) -> None:
        """See `StateDirectory`."""
        self.call("write")
        self._disk.write(name, data)

    def append(self, name: str, data: bytes) -> None:
        """See `StateDirectory`."""
        self.call("append")
        self._disk.append(name, data)

    def sync(self, name: str) -> None:
        """See `StateDirectory`."""
        self.call("sync")
        if name in {"", "snapshots"}:
            self._disk.sync_directory(name)
        else:
            self._disk.sync(name)

    def rename(self, name: str, new_name: str) -> None:
        """See `StateDirectory`."""
        self.call("rename")
        self._disk.rename(name, new_name)

    def remove(self, name: str) -> None:
        """See `StateDirectory`."""
        self.call("remove")
        self._disk.remove(name)

    def stores(self) -> tuple[int, ...]:
        """See `StateDirectory`."""
        found = (name for name in self._disk.directories() if name.startswith(_WORKER))
        return tuple(sorted(int(name.removeprefix(_WORKER)) for name in found))

    def store_path(self, worker: int) -> Any:  # noqa: ANN401 - as that of `path`
        """See `StateDirectory`."""
        return self.path / f"{_WORKER}{worker}"

    def open_store(self, worker: int, *, read_only: bool = False) -> SimulatedStore:
        """See `StateDirectory`."""
        if not read_only and self._process is not None:
            name = self._process.name
            if self._open_stores.setdefault(worker, name) != name:
                raise StoreInUseError(f"the store of worker {worker} is in use")
        return SimulatedStore(self, self._disk, worker, None if read_only else self._close)

    def _close(self, worker: int) -> None:
        if self._process is not None and self._process.life == self._life:
            self._open_stores.pop(worker, None)

    def remove_store(self, worker: int) -> None:
        """See `StateDirectory`."""
        self.call("remove store")
        for path in self._disk.paths(f"{_WORKER}{worker}"):
            self._disk.remove(path)


class SimulatedStore:
    """A worker's store: a file for each value."""

    def __init__(
        self,
        directory: SimulatedDirectory,
        disk: Disk,
        worker: int,
        on_close: Callable[[int], None] | None,
    ) -> None:
        self._directory = directory
        self._disk = disk
        self._worker = worker
        self._name = f"{_WORKER}{worker}"
        self._on_close = on_close

    def put(self, segments: Mapping[str, Octets]) -> None:
        """See `StateStore`."""
        self._directory.call("put")
        try:
            for key, value in segments.items():
                self._disk.write(f"{self._name}/{key}", bytes(value))
            self._sync(segments)
        except OSError as error:
            self.remove(segments)
            raise StateStoreError(str(error), transient=True) from None

    def _sync(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._disk.sync(f"{self._name}/{key}")
        self._disk.sync_directory(self._name)

    def get(self, key: str) -> memoryview | None:
        """See `StateStore`."""
        self._directory.wait()
        try:
            return memoryview(self._disk.read(f"{self._name}/{key}"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateStoreError(str(error), transient=True) from None

    def keys(self) -> tuple[str, ...]:
        """See `StateStore`."""
        prefix = f"{self._name}/"
        return tuple(path.removeprefix(prefix) for path in self._disk.paths(self._name))

    def remove(self, keys: Iterable[str]) -> None:
        """See `StateStore`."""
        self._directory.call("remove")
        for key in keys:
            self._disk.remove(f"{self._name}/{key}")

    def close(self) -> None:
        """See `StateStore`."""
        if self._on_close is not None:
            self._on_close(self._worker)


def segment_path(segment: StateSegment) -> str:
    """Return the file of a segment."""
    return f"{_WORKER}{segment.worker}/{segment.key}"


def manifest_path(snapshot: int) -> str:
    """Return the file of a manifest."""
    return f"snapshots/{snapshot}.json"
