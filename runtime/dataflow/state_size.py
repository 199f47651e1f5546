"""Estimates how many bytes the state of a fold takes, for monitoring; nothing that is released depends on it.

All objects that a fold refers to are counted.  Arrays have a known size; of a large list or dict only a
sample of the elements is measured.
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_LOOKED_AT: Final = 16
"""The size of the sample."""
_OWN_MODULES: Final = "fsql.runtime."
_NO_BYTES: Final = (str, bytes, int, float, bool, type(None))


def state_bytes(state: object) -> int:
    """Return about how many bytes an object and all that it refers to take."""
    return round(_Estimate().of(state))


class _Estimate:
    """One estimate, which counts each object once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, value: object) -> float:
        """Return the bytes of a value that have not been counted yet."""
        if isinstance(value, _NO_BYTES):
            return sys.getsizeof(value)
        if id(value) in self._seen:
            return 0
        self._seen.add(id(value))
        if isinstance(value, np.ndarray | pa.Array | pa.ChunkedArray):
            return value.nbytes
        if isinstance(value, dict):
            return self._of_container(value) + self._of_elements(value.values())
        if isinstance(value, list | tuple | set | frozenset | deque):
            return self._of_container(value)
        own = type(value).__module__.startswith(_OWN_MODULES)
        return sum(self.of(each) for each in _attributes(value)) if own else 0

    def _of_container(self, container: Collection[object]) -> float:
        return sys.getsizeof(container) + self._of_elements(container)

    def _of_elements(self, elements: Collection[object]) -> float:
        looked_at = list(islice(elements, _LOOKED_AT))
        size = sum(self.of(each) for each in looked_at)
        return size * len(elements) / max(len(looked_at), 1)


def _attributes(value: object) -> Iterator[object]:
    yield from getattr(value, "__dict__", {}).values()
    for kind in type(value).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(value, name):
                yield getattr(value, name)
