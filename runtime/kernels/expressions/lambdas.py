"""Functions that take a lambda: its body is an ordinary program, over a row for each element.

The elements of all arrays are concatenated, with the values that the lambda captures repeated for each
element.  The body is computed over them in parts, which limits how often captured values are repeated at a
time.  REDUCE proceeds from index to index, over the rows that have an element at the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import LambdaFunction
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import BOOLEAN, TEXTUAL, Kind
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.expressions.strict import leftmost_failure
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    both_valid,
    common_length,
    first_failure,
    from_array,
    offsets,
    stretched_values,
    to_array,
    truth,
    validity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import LambdaCall, Value
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Run = Callable[[Mapping[int, pa.Array | Vector]], list[Vector]]
    """Computes the body over its columns."""

ELEMENTS_MAX: Final = 1 << 16
"""The maximum number of elements over which the body is computed at a time."""
BYTES_MAX: Final = 1 << 26
"""The approximate number of bytes of a captured column that are copied at a time."""


class _Elements(NamedTuple):
    """The elements of all rows, concatenated, and the row of each; rows that are NULL or fail have none."""

    values: pa.Array
    rows: Ints
    lengths: Ints
    valid: NDArray[np.bool_] | None

    @property
    def starts(self) -> Ints:
        """Return where the elements of each row begin."""
        return np.cumsum(self.lengths) - self.lengths


class _Captured:
    """The captured columns, to be repeated for elements."""

    def __init__(self, vectors: Sequence[Vector], types: Sequence[SqlType], count: int) -> None:
        self._vectors = vectors
        self._types = types
        self._columns = [
            None
            if len(vector.values) == 1 != count
            else decode_dictionary(to_array(vector, kind, count))
            for vector, kind in zip(vectors, types, strict=True)
        ]
        copied = [
            column.nbytes // max(1, len(column))
            for column, kind in zip(self._columns, types, strict=True)
            if column is not None and kind.kind not in TEXTUAL
        ]
        self.step = min(ELEMENTS_MAX, max(1, BYTES_MAX // max([1, *copied])))
        """The number of elements over which the body is computed at a time."""

    def at(self, rows: Ints, first: int) -> dict[int, pa.Array | Vector]:
        """Return the columns of the body from `first` on, with a value for each of `rows`."""
        return {
            first + index: self._vectors[index] if column is None else _repeat(column, kind, rows)
            for index, (column, kind) in enumerate(zip(self._columns, self._types, strict=True))
        }

    def of_row(self, row: int) -> list[Value]:
        """Return the values of one row."""
        return [
            from_arrow(to_array(vector, kind, 1) if column is None else column.slice(row, 1), kind)[
                0
            ]
            for vector, column, kind in zip(self._vectors, self._columns, self._types, strict=True)
        ]


def lambda_kernel(call: LambdaCall, run: Run) -> Kernel:
    """Return the kernel of a call, over its arguments and the captured values; `run` computes the body."""
    apply = {
        LambdaFunction.TRANSFORM: _transform,
        LambdaFunction.FILTER: _filter,
        LambdaFunction.ANY_MATCH: _any_match,
    }
    given = len(call.arguments)

    def kernel(vectors: Sequence[Vector]) -> Vector:
        count = common_length(vectors)
        failed = leftmost_failure(vectors)
        elements = _elements_of(vectors[0], count, failed)
        captured = _Captured(vectors[given:], [each.type for each in call.captured], count)
        if call.function is LambdaFunction.REDUCE:
            start = decode_dictionary(to_array(vectors[1], call.type, count))
            result = _Reduction(call, run, elements, captured, start).result()
        else:
            values, codes = _values_of(call, run, elements, captured)
            own = _first_of_rows(codes, elements.rows, count)
            result = apply[call.function](call, elements, values)._replace(failed=own)
        return result._replace(failed=first_failure(failed, result.failed))

    return kernel


def _elements_of(arrays: Vector, count: int, failed: Codes | None) -> _Elements:
    lists = stretched_values(arrays, count)
    bounds = offsets(lists).astype(np.int64)
    valid = None if arrays.valid is None else np.broadcast_to(arrays.valid, count)
    lengths = np.diff(bounds) if count else np.zeros(0, np.int64)
    used = both_valid(valid, None if failed is None else np.broadcast_to(failed, count) == 0)
    if used is not None:
        lengths = np.where(used, lengths, 0)
    rows = np.repeat(np.arange(count), lengths)
    if len(rows) == bounds[-1] - bounds[0]:
        values = lists.values.slice(int(bounds[0]), len(rows))
    else:
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        values = lists.values.take(pa.array(bounds[rows] + within))
    return _Elements(values, rows, lengths, valid)


def _values_of(
    call: LambdaCall, run: Run, elements: _Elements, captured: _Captured
) -> tuple[pa.Array, Codes | None]:
    """Return the value of the body for each element, and which elements fail."""
    kind = call.body.expression.type
    pieces: list[pa.Array] = [pa.nulls(0, arrow_type(kind))]
    codes: list[Codes] = []
    for begin in range(0, len(elements.rows), captured.step):
        rows = elements.rows[begin : begin + captured.step]
        part = elements.values.slice(begin, len(rows))
        (vector,) = run({0: part, **captured.at(rows, 1)})
        pieces.append(decode_dictionary(to_array(vector, kind, len(rows))))
        codes.append(_codes(vector, len(rows)))
    failing = any(part.any() for part in codes)
    return pa.concat_arrays(pieces), np.concatenate(codes) if failing else None


def _transform(call: LambdaCall, elements: _Elements, values: pa.Array) -> Vector:
    return _lists(values, elements.lengths, elements.valid, call.type)


def _filter(call: LambdaCall, elements: _Elements, values: pa.Array) -> Vector:
    kept = truth(from_array(values, BOOLEAN))
    lengths = np.bincount(elements.rows[kept], minlength=len(elements.lengths))
    chosen = decode_dictionary(elements.values).take(pa.array(np.flatnonzero(kept)))
    return _lists(chosen, lengths, elements.valid, call.type)


def _any_match(_call: LambdaCall, elements: _Elements, values: pa.Array) -> Vector:
    count = len(elements.lengths)
    vector = from_array(values, BOOLEAN)
    found = np.bincount(elements.rows[truth(vector)], minlength=count) > 0
    valid = elements.valid
    if vector.valid is not None:
        unknown = np.bincount(elements.rows[~vector.valid], minlength=count) > 0
        valid = both_valid(valid, found | ~unknown)
    return Vector(found, valid)


def _lists(
    values: pa.Array, lengths: Ints, valid: NDArray[np.bool_] | None, kind: SqlType
) -> Vector:
    ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    mask = None if valid is None or valid.all() else pa.array(~valid)
    made = pa.ListArray.from_arrays(pa.array(ends), values, type=arrow_type(kind), mask=mask)
    return Vector(made, validity(made))


class _Reduction:
    """REDUCE: the accumulators of the rows that still have elements; the results of the others are known."""

    def __init__(
        self,
        call: LambdaCall,
        run: Run,
        elements: _Elements,
        captured: _Captured,
        start: pa.Array,
    ) -> None:
        self._body = call.body.expression
        self._type = call.type
        element = call.arguments[0].type.element
        assert element is not None
        self._element_type = element
        self._run = run
        self._elements = elements
        self._captured = captured
        self._failed = np.zeros(len(elements.lengths), np.int16)
        self._known: list[tuple[Ints, pa.Array]] = []
        empty = elements.lengths == 0
        absent = np.zeros_like(empty) if elements.valid is None else ~elements.valid
        nothing, no_elements = np.flatnonzero(absent), np.flatnonzero(empty & ~absent)
        self._known.append((nothing, pa.nulls(len(nothing), arrow_type(call.type))))
        self._known.append((no_elements, start.take(pa.array(no_elements))))
        self._rows = np.flatnonzero(~empty)
        self._accumulators = start.take(pa.array(self._rows))

    def result(self) -> Vector:
        """Return the results of all rows."""
        index = 0
        while len(self._rows) > FEW_ROWS:
            self._take(index)
            index += 1
        self._take_few(index)
        rows = np.concatenate([known for known, _ in self._known])
        order = np.empty(len(rows), np.int64)
        order[rows] = np.arange(len(rows))
        values = pa.concat_arrays([values for _, values in self._known]).take(pa.array(order))
        failed = self._failed if self._failed.any() else None
        return from_array(values, self._type)._replace(failed=failed)

    def _take(self, index: int) -> None:
        """Reduce the elements at an index of all rows."""
        made, codes = [pa.nulls(0, arrow_type(self._type))], []
        for begin in range(0, len(self._rows), self._captured.step):
            rows = self._rows[begin : begin + self._captured.step]
            columns = {
                0: self._accumulators.slice(begin, len(rows)),
                1: self._elements.values.take(pa.array(self._elements.starts[rows] + index)),
                **self._captured.at(rows, 2),
            }
            (vector,) = self._run(columns)
            made.append(decode_dictionary(to_array(vector, self._type, len(rows))))
            codes.append(_codes(vector, len(rows)))
        values, failed = pa.concat_arrays(made), np.concatenate(codes)
        self._failed[self._rows] = failed
        going = (self._elements.lengths[self._rows] > index + 1) & (failed == 0)
        self._known.append((self._rows[~going], values.filter(pa.array(~going))))
        self._accumulators = values.filter(pa.array(going))
        self._rows = self._rows[going]

    def _take_few(self, first: int) -> None:
        """Reduce all elements from index `first` on, a row at a time: few rows may have many elements."""
        reached = from_arrow(self._accumulators, self._type)
        for index, row in enumerate(self._rows.tolist()):
            start, length = int(self._elements.starts[row]), int(self._elements.lengths[row])
            elements = self._elements.values.slice(start + first, length - first)
            captured = self._captured.of_row(row)
            try:
                for element in from_arrow(elements, self._element_type):
                    reached[index] = evaluate(self._body, (reached[index], element, *captured))
            except RowFailure as failure:
                self._failed[row] = failure.code
                reached[index] = None
        self._known.append((self._rows, to_arrow(reached, self._type)))


def _repeat(column: pa.Array, kind: SqlType, rows: Ints) -> pa.Array:
    """Return the values of `rows`, which may be repeated; long texts are not copied."""
    if kind.kind not in TEXTUAL:
        return column.take(pa.array(rows))
    valid = validity(column)
    absent = None if valid is None else ~valid[rows]
    words = column if valid is None else column.fill_null("" if kind.kind is Kind.STRING else b"")
    return pa.DictionaryArray.from_arrays(pa.array(rows.astype(np.int32), mask=absent), words)


def _codes(vector: Vector, count: int) -> Codes:
    none = np.zeros(1, np.int16)
    return np.broadcast_to(none if vector.failed is None else vector.failed, count)


def _first_of_rows(codes: Codes | None, rows: Ints, count: int) -> Codes | None:
    """Return the failure of the first element that fails, for each row."""
    if codes is None:
        return None
    failing = np.flatnonzero(codes)[::-1]
    own = np.zeros(count, np.int16)
    own[rows[failing]] = codes[failing]
    return own
