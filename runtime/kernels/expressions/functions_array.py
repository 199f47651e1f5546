"""Functions on arrays; elements count from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.kernels.expressions.functions_map import is_map_call, make_value_at
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.strict import all_valid, leftmost_failure
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    from_array,
    offsets,
    to_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.expressions.vectors import Kernel


def _cardinality(arguments: Sequence[Vector]) -> Vector:
    (array,) = arguments
    lengths = np.diff(offsets(array.values)).astype(np.int64)
    return Vector(lengths, array.valid, array.failed)


def _make_element_at(call: Call) -> Kernel:
    if is_map_call(call):
        return make_value_at(call)
    element = call.type

    def kernel(arguments: Sequence[Vector]) -> Vector:
        arrays, ordinals = arguments
        simple = _within_every_row(arrays, ordinals)
        if simple is not None:
            elements = arrays.values.values
            # A slice does not copy a long element.
            one = len(simple) == 1
            found = elements.slice(simple[0], 1) if one else elements.take(pa.array(simple))
            values, present, _ = from_array(found, element)
            return Vector(values, present, leftmost_failure(arguments))
        count = common_length(arguments)
        starts = np.broadcast_to(offsets(arrays.values)[:-1], count)
        lengths = np.broadcast_to(np.diff(offsets(arrays.values)), count)
        valid = all_valid(arguments)
        inside = (ordinals.values >= 1) & (ordinals.values <= lengths)
        at = starts + np.where(inside, ordinals.values - 1, 0)
        absent = ~inside if valid is None else ~(valid & inside)
        found = arrays.values.values.take(pa.array(at, mask=np.broadcast_to(absent, count)))
        values, present, _ = from_array(found, element)
        return Vector(values, present, leftmost_failure(arguments))

    return kernel


def _within_every_row(arrays: Vector, ordinals: Vector) -> Ints | None:
    """Return the indexes of the elements if the ordinal is constant and every row is long enough."""
    if len(ordinals.values) != 1 or ordinals.valid is not None or arrays.valid is not None:
        return None
    bounds = offsets(arrays.values)
    ordinal = int(ordinals.values[0])
    if ordinal < 1 or (bounds[1:] - bounds[:-1] < ordinal).any():
        return None
    return bounds[:-1].astype(np.int64) + (ordinal - 1)


def _make_array(call: Call) -> Kernel:
    element = call.type.element
    assert element is not None

    def kernel(arguments: Sequence[Vector]) -> Vector:
        rows = common_length(arguments)
        lists = _interleave(arguments, element, rows)
        return Vector(lists, None, leftmost_failure(arguments))

    return kernel


def _interleave(arguments: Sequence[Vector], element: SqlType, rows: int) -> pa.ListArray:
    """Return, for each row, the list of the arguments' values."""
    width = len(arguments)
    columns = [to_array(argument, element, len(argument.values)) for argument in arguments]
    plain = [
        column.dictionary.take(column.indices) if isinstance(column, pa.DictionaryArray) else column
        for column in columns
    ]
    lengths = np.array([len(column) for column in plain])
    first = np.cumsum(lengths) - lengths
    at = first[None, :] + np.where(lengths == 1, 0, np.arange(rows)[:, None])
    elements = pa.concat_arrays(plain).take(pa.array(at.ravel()))
    ends = np.arange(0, rows * width + 1, width, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), elements, type=pa.list_(arrow_type(element)))


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "join_texts": per_value,
    "cardinality": lambda _call: _cardinality,
    "element_at": _make_element_at,
    "array": _make_array,
}
