"""Functions on maps, which are lists of their entries in the order of their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.map_entries import map_of_entries
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.kernels.expressions.functions_comparison import comparison
from fsql.runtime.kernels.expressions.strict import all_valid, leftmost_failure
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    from_array,
    offsets,
    plain_values,
    stretched_values,
    to_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.expressions.vectors import Kernel


def _make_parts(index: int) -> Callable[[Call], Kernel]:
    """Return the maker of MAP_KEYS (0) or MAP_VALUES (1)."""

    def make(call: Call) -> Kernel:
        kind = arrow_type(call.type)

        def kernel(arguments: Sequence[Vector]) -> Vector:
            (argument,) = arguments
            maps = plain_values(argument)
            lengths = pc.fill_null(pc.list_value_length(maps), 0).to_numpy()
            ends = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
            parts = pc.struct_field(maps.flatten(), [index])
            missing = maps.is_null() if maps.null_count else None
            lists = pa.ListArray.from_arrays(ends, parts, type=kind, mask=missing)
            return Vector(lists, argument.valid, argument.failed)

        return kernel

    return make


def _entries(arguments: Sequence[Vector]) -> Vector:
    (argument,) = arguments
    return argument


def make_value_at(call: Call) -> Kernel:
    """Return the kernel of `m[key]`; NULL where the map does not have the key."""
    key = call.arguments[1].type

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        maps = stretched_values(arguments[0], count)
        at, found = _find_entries(maps, arguments[1], key, count)
        valid = all_valid(arguments)
        absent = ~found if valid is None else ~(valid & found)
        values = pc.struct_field(maps.values, [1]).take(pa.array(at, mask=absent))
        made, present, _ = from_array(values, call.type)
        return Vector(made, present, leftmost_failure(arguments))

    return kernel


def _make_contains_key(call: Call) -> Kernel:
    key = call.arguments[1].type

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        maps = stretched_values(arguments[0], count)
        _, found = _find_entries(maps, arguments[1], key, count)
        return Vector(found, all_valid(arguments), leftmost_failure(arguments))

    return kernel


def _find_entries(
    maps: pa.ListArray, wanted: Vector, key: SqlType, count: int
) -> tuple[Ints, Bools]:
    """Return for each map the index of the entry with the wanted key, and whether there is one."""
    bounds = offsets(maps).astype(np.int64)
    lengths = np.diff(bounds)
    row = np.repeat(np.arange(count), lengths)
    at = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    at += np.repeat(bounds[:-1], lengths)
    keys = from_array(pc.struct_field(maps.values, [0]).take(pa.array(at)), key)
    column = to_array(wanted, key, count)
    sought = from_array(column.take(pa.array(row)), key)
    equal = np.broadcast_to(comparison("eq", key)([keys, sought]).values, len(row))
    indexes, found = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    indexes[row[equal]] = at[equal]
    found[row[equal]] = True
    return indexes, found


def by_keys(cast: Kernel, target: SqlType) -> Kernel:
    """Return the kernel of a cast of maps to another key type: keys may change their order, or coincide."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        made = cast(arguments)
        skipped = np.zeros(len(made.values), np.bool_) if made.failed is None else made.failed != 0
        maps = [
            None if entries is None or failed else map_of_entries(entries)  # type: ignore[arg-type]
            for entries, failed in zip(
                from_arrow(plain_values(made), target), skipped.tolist(), strict=True
            )
        ]
        values, valid, _ = from_array(to_arrow(maps, target), target)
        return Vector(values, valid, made.failed)

    return kernel


def is_map_call(call: Call) -> bool:
    """Return whether the first argument of a call is a map."""
    return call.arguments[0].type.kind is Kind.MAP


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "map_keys": _make_parts(0),
    "map_values": _make_parts(1),
    "map_entries": lambda _call: _entries,
    "map_contains_key": _make_contains_key,
}
