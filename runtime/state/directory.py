"""The port to a state directory: files under names relative to it, and the stores of workers.

Written data is visible to readers immediately, but only synced data survives a loss of power: `sync` of a
file makes its content durable, `sync` of a directory the names in it.  Of the rest, a crash may leave all,
nothing or a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.state.store import StateStore


class StateDirectory(Protocol):
    """The state directory of a job; every call may raise `OSError` or, for stores, `StateStoreError`."""

    @property
    def path(self) -> Path:
        """Return the path of the directory, for messages."""

    def names(self, directory: str) -> tuple[str, ...]:
        """Return the names of the files in a directory; none if it does not exist."""

    def make_directory(self, directory: str) -> None:
        """Make a directory durably, if it does not exist."""

    def read(self, name: str, start: int = 0) -> bytes:
        """Return the content of a file from byte `start` on.

        Raises:
            FileNotFoundError: if it does not exist.
        """

    def write(self, name: str, data: bytes) -> None:
        """Create a file or replace its content."""

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, which is created if it does not exist; other processes may do so too."""

    def sync(self, name: str) -> None:
        """Make the content of a file durable, or the names in a directory; "" is the state directory."""

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file, and replace the one that has the new name."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def stores(self) -> tuple[int, ...]:
        """Return the numbers of the workers that have a store, ascending."""

    def store_path(self, worker: int) -> Path:
        """Return the path of the store of a worker, for messages."""

    def open_store(self, worker: int, *, read_only: bool = False) -> StateStore:
        """Open the store of a worker; only one process may have it open for writing.

        Raises:
            StateStoreError: if it cannot be opened.
        """

    def remove_store(self, worker: int) -> None:
        """Remove the store of a worker; files that cannot be removed now are left."""
