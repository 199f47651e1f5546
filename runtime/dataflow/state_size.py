"""Estimates the size of the state of a fold in bytes, for monitoring; no released row depends on it.

All objects that a fold refers to are counted.  Arrays have a known size; of a large list or dict only a
sample of the elements is measured.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection

_LOOKED_AT: Final = 16
"""The size of the sample."""
_OWN_MODULES: Final = "fsql.runtime."
_ATOMIC: Final = frozenset({str, bytes, int, float, bool, type(None)})
_ARRAYS: Final = (np.ndarray, pa.Array, pa.ChunkedArray)
_CONTAINERS: Final = (list, tuple, set, frozenset, deque)


def state_bytes(state: object) -> int:
    """Return the approximate size in bytes of an object and of everything that it refers to."""
    return round(_Estimate().of(state))


class _Estimate:
    """One estimate, which counts each object once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, value: object) -> float:
        """Return the bytes of a value that have not been counted yet."""
        kind: type = type(value)
        if kind in _ATOMIC:
            return sys.getsizeof(value)
        if id(value) in self._seen:
            return 0
        self._seen.add(id(value))
        if isinstance(value, _ARRAYS):
            return value.nbytes
        if isinstance(value, dict):
            return self._container_bytes(value) + self._elements_bytes(value.values())
        if isinstance(value, _CONTAINERS):
            return self._container_bytes(value)
        return self._attributes_bytes(value, kind) if _is_own(kind) else 0

    def _container_bytes(self, container: Collection[object]) -> float:
        return sys.getsizeof(container) + self._elements_bytes(container)

    def _elements_bytes(self, elements: Collection[object]) -> float:
        if not elements:
            return 0
        looked_at = islice(elements, _LOOKED_AT)
        return sum(map(self.of, looked_at)) * len(elements) / min(len(elements), _LOOKED_AT)

    def _attributes_bytes(self, value: object, kind: type) -> float:
        size = sum(map(self.of, getattr(value, "__dict__", {}).values()))
        for name in _slots(kind):
            size += self.of(getattr(value, name, None))
        return size


@cache
def _is_own(kind: type) -> bool:
    return kind.__module__.startswith(_OWN_MODULES)


@cache
def _slots(kind: type) -> tuple[str, ...]:
    return tuple(name for each in kind.__mro__ for name in getattr(each, "__slots__", ()))
