"""The port to a store of state: values under keys, put all or none, durable when `put` returns.

The values are large and few.  Readers check them against the size and hash in a manifest, so a store need not
detect damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Octets: TypeAlias = bytes | memoryview
"""Bytes, possibly a view of another buffer."""


class StateStoreError(Exception):
    """An operation of the store failed; the text says which and why.

    If `transient`, the disk failed, and another attempt may succeed.
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class DamagedStoreError(StateStoreError):
    """The store cannot be opened for writing, now or later, because its files are damaged."""


class StoreInUseError(StateStoreError):
    """The store cannot be opened because another process has it open; the disk has not failed."""


class StateStore(Protocol):
    """Values under keys; used from one thread at a time."""

    def put(self, segments: Mapping[str, Octets]) -> None:
        """Store all of them or none, durably.  A key must be put only once; otherwise a crash may mix values.

        Raises:
            StateStoreError: if it failed; then the values may not be read.
        """

    def get(self, key: str) -> memoryview | None:
        """Return the value under a key, or None.

        Raises:
            StateStoreError: if it cannot be read.
        """

    def keys(self) -> tuple[str, ...]:
        """Return all keys, ascending, including those of values that a crash or a full disk left incomplete.

        Raises:
            StateStoreError: if it is not certain that these are all.
        """

    def remove(self, keys: Iterable[str]) -> None:
        """Remove the values under the keys, if any; a crash may bring them back."""

    def close(self) -> None:
        """Release what the store holds; it is not used afterwards."""
