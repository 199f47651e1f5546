"""The port to a store of state: values under keys, put all or none, durable when `put` returns.

The values are large and few.  Readers check them against the size and hash in a manifest, so a store need not
detect damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Octets: TypeAlias = bytes | memoryview
"""Bytes, maybe those of somebody else's buffer."""


class StateStoreError(Exception):
    """An operation of the store failed; the text says which and why.

    `passing` says that the disk failed, and that another attempt may help.
    """

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class StateStore(Protocol):
    """Values under keys; used from one thread at a time."""

    def put(self, records: Mapping[str, Octets]) -> None:
        """Store all of them or none, durably.  A key is given a value once; else a crash may mix the two.

        Raises:
            StateStoreError: if none was stored (or none that anybody was told of).
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
