"""Rows as values: constructors, fields, comparison, and casts of rows and arrays by their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.arrow_types import arrow_type, struct_of
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.expressions.strict import leftmost_failure
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    first_failure,
    from_array,
    offsets,
    plain_values,
    to_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel


def _make_row(call: Call) -> Kernel:
    types = call.type.field_types

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        children = [to_array(*each, count) for each in zip(arguments, types, strict=True)]
        return Vector(struct_of(children, call.type), None, leftmost_failure(arguments))

    return kernel


def field_kernel(index: int, sql_type: SqlType) -> Kernel:
    """Return the kernel of access to a field; NULL where the row is NULL."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (row,) = arguments
        found = from_array(pc.struct_field(plain_values(row), [index]), sql_type)
        return found._replace(failed=row.failed)

    return kernel


def cast_rows(source: SqlType, target: SqlType, kernels: Sequence[Kernel]) -> Kernel:
    """Return the cast of rows, whose fields `kernels` cast; the first field that fails is reported."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        rows = plain_values(argument)
        failed = argument.failed
        children = []
        for index, (cast, given) in enumerate(zip(kernels, source.field_types, strict=True)):
            made = cast([from_array(pc.struct_field(rows, [index]), given)])
            failed = first_failure(failed, made.failed)
            children.append(to_array(made, target.field_types[index], len(rows)))
        missing = None if argument.valid is None else ~np.broadcast_to(argument.valid, len(rows))
        return Vector(struct_of(children, target, missing), argument.valid, failed)

    return kernel


def cast_lists(source: SqlType, target: SqlType, cast: Kernel) -> Kernel:
    """Return the cast of arrays, whose elements `cast` casts; the first element that fails is reported."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        lists = plain_values(argument)
        lengths = np.diff(offsets(lists))
        if argument.valid is not None:
            lengths = np.where(argument.valid, lengths, 0)
        assert source.element is not None
        assert target.element is not None
        made = cast([from_array(lists.flatten(), source.element)])
        ends = np.append(0, np.cumsum(lengths)).astype(np.int32)
        elements = decode_dictionary(to_array(made, target.element, int(ends[-1])))
        missing = None if argument.valid is None else pa.array(~argument.valid)
        kind = arrow_type(target)
        values = pa.ListArray.from_arrays(pa.array(ends), elements, type=kind, mask=missing)
        failed = first_failure(argument.failed, _list_failures(made.failed, ends))
        return Vector(values, argument.valid, failed)

    return kernel


def _list_failures(failed: Codes | None, ends: np.ndarray) -> Codes | None:
    """Return the failure of each array: that of its first element that fails."""
    if failed is None:
        return None
    codes = np.zeros(len(ends) - 1, np.int16)
    at = np.flatnonzero(failed)[::-1]
    codes[np.searchsorted(ends, at, side="right") - 1] = failed[at]
    return codes


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {"row": _make_row}
