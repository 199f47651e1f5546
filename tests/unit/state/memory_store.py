"""A state store in memory that fails when it is told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.state.store import Octets


class MemoryStore:
    """A `StateStore`; `full` makes it refuse to write, and `bytes_put` says how much was put."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.full = False
        self.bytes_put = 0

    def put(self, segments: Mapping[str, Octets]) -> None:
        if self.full:
            raise StateStoreError("cannot write: no space left")
        self.values.update({key: bytes(value) for key, value in segments.items()})
        self.bytes_put += sum(len(value) for value in segments.values())

    def get(self, key: str) -> memoryview | None:
        return memoryview(self.values[key]) if key in self.values else None

    def keys(self) -> tuple[str, ...]:
        return tuple(sorted(self.values))

    def remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.values.pop(key, None)

    def close(self) -> None:
        pass
