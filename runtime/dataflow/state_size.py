"""Estimates the size of the state of a fold in bytes, for monitoring; no released row depends on it.

All objects that a fold refers to are counted.  Arrays have a known size; of a large list or dict only a
sample of the elements is measured.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_LOOKED_AT: Final = 16
"""The size of the sample."""
_OWN_MODULES: Final = "fsql.runtime."
_ATOMIC: Final = frozenset({str, bytes, int, float, bool, type(None)})
_ARRAYS: Final = (np.ndarray, pa.Array, pa.ChunkedArray)
_CONTAINERS: Final = (list, tuple, set, frozenset, deque)


def state_bytes(state: object) -> int:
    """Return the approximate size in bytes of an object and of everything that it refers to."""
    return round(_bytes_of_all((state,), set()))


def _bytes_of_all(values: Iterable[object], seen: set[int]) -> float:
    """Return the bytes of values without those of objects in `seen`, and add them to it."""
    total: float = 0
    for value in values:
        kind: type = type(value)
        if kind in _ATOMIC:
            total += sys.getsizeof(value)
        elif id(value) not in seen:
            seen.add(id(value))
            total += _measure_of(kind)(value, seen)
    return total


def _array_bytes(array: Any, _: set[int]) -> float:  # noqa: ANN401 - any kind of array
    size: int = array.nbytes
    return size


def _dict_bytes(value: dict[object, object], seen: set[int]) -> float:
    return _container_bytes(value, seen) + _elements_bytes(value.values(), seen)


def _container_bytes(container: Collection[object], seen: set[int]) -> float:
    return sys.getsizeof(container) + _elements_bytes(container, seen)


def _elements_bytes(elements: Collection[object], seen: set[int]) -> float:
    count = len(elements)
    if count <= _LOOKED_AT:
        return _bytes_of_all(elements, seen)
    return _bytes_of_all(islice(elements, _LOOKED_AT), seen) * count / _LOOKED_AT


def _object_bytes(value: object, seen: set[int]) -> float:
    size = _bytes_of_all(getattr(value, "__dict__", {}).values(), seen)
    kind: type = type(value)
    return size + _bytes_of_all([getattr(value, name, None) for name in _slots(kind)], seen)


@cache
def _measure_of(kind: type) -> Callable[[Any, set[int]], float]:
    """Return the function that measures the objects of a type."""
    if issubclass(kind, _ARRAYS):
        return _array_bytes
    if issubclass(kind, dict):
        return _dict_bytes
    if issubclass(kind, _CONTAINERS):
        return _container_bytes
    return _object_bytes if kind.__module__.startswith(_OWN_MODULES) else lambda *_: 0


@cache
def _slots(kind: type) -> tuple[str, ...]:
    return tuple(name for each in kind.__mro__ for name in getattr(each, "__slots__", ()))
