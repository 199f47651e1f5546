"""Map functions over a few rows as Python values, with the same results as `maps` in columns.

In columns, each function takes dozens of calls of Arrow and NumPy even for few rows.  With Python values, one
or two calls are enough, and the values become columns once, after the last function.  For one document (300
words, 20 ms apart, `fsql bench inverted-index --rate 50`) splitting and grouping takes 0.8 ms in columns and
0.4 ms here.

These functions raise `RowFailure` if a row fails, without an effect; the rows are then processed in columns.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import (
    AggregateFunction,
    Call,
    Case,
    Cast,
    ColumnRef,
    FieldAccess,
    InSet,
    LambdaCall,
    Literal,
    TryCast,
)
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.time_zones import offset_of, window_bounds
from fsql.compiler.graph import (
    Compute,
    Expired,
    Explode,
    ExplodeAggregate,
    Late,
    MapFunction,
    OnTime,
    OnTimeSlices,
    Pad,
    Renumber,
    ScanRows,
    Select,
    ToExpiry,
    ToRowTime,
    ToSlices,
    ToWindows,
)
from fsql.compiler.logical import close_time, expiry_time, watermark_at
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import BIGINT, INTEGER_RANGES, TEXTUAL, TIMESTAMP, TIMESTAMP_MAX, Kind
from fsql.runtime.arrow_types import from_arrow, remember_values, to_arrow
from fsql.runtime.batch import PUNCTUATION, Batch, Root
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.maps.map_result import (
    repeat_batch,
    repeat_column,
    repeats_of,
    with_changed_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import AggregateCall, Expression, Value
    from fsql.compiler.graph import Closing, SliceClosing
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.kernels.maps.map_result import Repeats, Rows

_NODES_MAX: Final = 64
"""Larger expressions, with repeated nodes counted each time, are evaluated in columns."""


class FewColumn:
    """A column, made from values, an array, or the repeated rows of another column; converted on request."""

    __slots__ = ("_array", "_repeats", "_values", "type")

    def __init__(
        self,
        sql_type: SqlType,
        values: list[Value] | None = None,
        array: pa.Array | None = None,
        repeats: tuple[FewColumn, Rows] | None = None,
    ) -> None:
        self.type = sql_type
        self._values = values
        self._array = array
        self._repeats = repeats

    @property
    def values(self) -> list[Value]:
        """Return the values."""
        if self._values is None:
            if self._repeats is not None:
                column, rows = self._repeats
                self._values = list(map(column.values.__getitem__, rows.tolist()))
            else:
                self._values = from_arrow(decode_dictionary(self._array), self.type)
        return self._values

    @property
    def array(self) -> pa.Array:
        """Return the array."""
        if self._array is None:
            if self._repeats is not None:
                column, rows = self._repeats
                self._array = repeat_column(column.array, pa.array(rows))
            else:
                self._array = to_arrow(self.values, self.type)
            if self.type.kind in TEXTUAL:
                remember_values(self._array, self.values)
        return self._array


class FewRows:
    """A few rows: columns, and their positions as a batch without columns."""

    __slots__ = ("columns", "positions")

    def __init__(self, columns: Sequence[FewColumn], positions: Batch) -> None:
        self.columns = columns
        self.positions = positions

    @staticmethod
    def of(batch: Batch, schema: Schema) -> FewRows:
        """Return the rows of a batch."""
        columns = [
            FewColumn(column.type, array=array)
            for column, array in zip(schema, batch.columns, strict=True)
        ]
        return FewRows(columns, batch.with_columns(()))

    def batch(self) -> Batch:
        """Return the rows as a batch."""
        return self.positions.with_columns([column.array for column in self.columns])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.positions)

    def rows(self, used: Sequence[int]) -> list[list[Value]]:
        """Return the rows, in which only the `used` columns are filled in."""
        rows: list[list[Value]] = [[None] * len(self.columns) for _ in range(len(self))]
        for index in used:
            for row, value in zip(rows, self.columns[index].values, strict=True):
                row[index] = value
        return rows


if TYPE_CHECKING:
    FewFunction = Callable[[FewRows], FewRows]
    """A map function; raises `RowFailure` if a row fails."""


def compile_few(  # noqa: C901, PLR0911 - one line for each function
    function: MapFunction, input_schema: Schema
) -> FewFunction | None:
    """Return the function over a few rows; None if it must be executed in columns."""
    match function:
        case ScanRows() | Renumber() | Pad():
            return lambda rows: FewRows(
                rows.columns, with_changed_path(function, rows.positions, ())
            )
        case Select(predicate) if _is_small(predicate):
            return _few_select(predicate)
        case Compute(expressions) if all(map(_is_small, expressions)):
            return _few_compute(expressions)
        case Explode(array=array) if _is_small(array):
            return _few_explode(function)
        case ToWindows():
            return _few_windows(function)
        case ToSlices():
            return _few_slices(function)
        case OnTimeSlices(closing=closing):
            return _few_slices_on_time(closing)
        case ToExpiry():
            return _few_expiry(function)
        case Expired():
            return _few_expired(function)
        case ToRowTime():
            return _few_row_times
        case OnTime(closing=closing):
            return _few_punctual(closing, keep_late=False)
        case Late(closing=closing):
            return _few_punctual(closing, keep_late=True)
        case ExplodeAggregate() if _finds_ordinals(function, len(input_schema)):
            return _few_ordinals(function)
        case _:
            return None


def is_trivial(function: MapFunction) -> bool:
    """Return whether a function reads no values, so that columns are equally fast."""
    if isinstance(function, Compute):
        return all(isinstance(expression, ColumnRef) for expression in function.expressions)
    return isinstance(function, ScanRows | Renumber | Pad)


def _is_small(expression: Expression) -> bool:
    """Return whether an expression has few nodes; repeated ones count each time."""
    nodes = 0
    stack = [expression]
    while stack and nodes <= _NODES_MAX:
        node = stack.pop()
        nodes += 1
        match node:
            case Call(arguments=arguments):
                stack += arguments
            case Cast() | TryCast() | FieldAccess() | InSet():
                stack.append(node.argument)
            case Case(branches=branches, otherwise=otherwise):
                stack += [part for branch in branches for part in branch]
                stack.append(otherwise)
            case LambdaCall():
                # Few rows may have many elements.
                return False
            case _:
                assert isinstance(node, ColumnRef | Literal)
    return nodes <= _NODES_MAX


def _used_columns(expressions: Sequence[Expression]) -> list[int]:
    """Return the indexes of the columns that expressions read."""
    nodes = (node for expression in expressions for node in walk(expression))
    return sorted({node.index for node in nodes if isinstance(node, ColumnRef)})


def _few_select(predicate: Expression) -> FewFunction:
    used = _used_columns([predicate])

    def apply(rows: FewRows) -> FewRows:
        kept = [
            index for index, row in enumerate(rows.rows(used)) if evaluate(predicate, row) is True
        ]
        return _take_rows(rows, kept)

    return apply


def _take_rows(rows: FewRows, kept: list[int]) -> FewRows:
    """Return the rows at the given indexes, which ascend."""
    if len(kept) == len(rows):
        return rows
    columns = [
        FewColumn(column.type, [column.values[index] for index in kept]) for column in rows.columns
    ]
    return FewRows(columns, rows.positions.take(np.array(kept, np.int64)))


def _few_explode(function: Explode) -> FewFunction:
    used = _used_columns([function.array])
    element = function.array.type.element
    assert element is not None

    def apply(rows: FewRows) -> FewRows:
        arrays = [_elements(evaluate(function.array, row)) for row in rows.rows(used)]
        added = [FewColumn(element, list(chain.from_iterable(arrays)))]
        if function.ordinality:
            ordinals = (range(1, len(array) + 1) for array in arrays)
            added.append(FewColumn(BIGINT, list(chain.from_iterable(ordinals))))
        return _repeat(rows, repeats_of(np.array(list(map(len, arrays)), np.int64)), added)

    return apply


def _elements(array: Value) -> tuple[Value, ...]:
    assert array is None or isinstance(array, tuple)
    return array or ()


def _few_windows(function: ToWindows) -> FewFunction:
    size, slide, offset = function.size_us, function.slide_us, function.offset_us
    zone = function.zone

    def apply(rows: FewRows) -> FewRows:
        counts, windows = [], []
        for time in rows.columns[function.time_column].values:
            assert isinstance(time, int)
            since = time + offset_of(time, zone) - offset
            first, last = (since - size) // slide + 1, since // slide
            counts.append(last - first + 1)
            windows += [
                window_bounds(start * slide + offset, size, zone)
                for start in range(first, last + 1)
            ]
        bounds = zip(*windows, strict=True) if windows else ((), (), ())
        added = [FewColumn(TIMESTAMP, [*bound]) for bound in bounds]
        return _repeat(rows, repeats_of(np.array(counts, np.int64)), added)

    return apply


def _few_slices(function: ToSlices) -> FewFunction:
    size, slide, offset = function.size_us, function.slide_us, function.offset_us

    def apply(rows: FewRows) -> FewRows:
        kept: list[int] = []
        bounds: list[tuple[int, int, int, int]] = []
        for index, time in enumerate(rows.columns[function.time_column].values):
            assert isinstance(time, int)
            since = time - offset
            first = ((since - size) // slide + 1) * slide + offset
            last = since // slide * slide + offset
            start, end, before = window_bounds(first, size, function.zone)
            _, last_end, _ = window_bounds(last, size, function.zone)
            if function.until is not None:
                until = rows.columns[function.until].values[index]
                assert isinstance(until, int)
                last_end = min(last_end, end + (until - end) // slide * slide)
            if last_end >= end:
                kept.append(index)
                bounds.append((start, end, before, last_end))
        taken = _take_rows(rows, kept)
        added = [FewColumn(TIMESTAMP, [each[level] for each in bounds]) for level in range(4)]
        return _repeat(taken, repeats_of(np.ones(len(kept), np.int64)), added)

    return apply


def _few_slices_on_time(closing: SliceClosing) -> FewFunction:
    def apply(rows: FewRows) -> FewRows:
        kept, ends = [], []
        lasts = rows.columns[closing.last_end].values
        column = rows.columns[closing.window_end]
        for index, (first, last) in enumerate(zip(column.values, lasts, strict=True)):
            assert isinstance(first, int)
            assert isinstance(last, int)
            root, end = rows.positions.root(index), first
            while end <= last and root > _close(closing, end):
                end += closing.slide_us
            if end <= last:
                kept.append(index)
                ends.append(end)
        taken = _take_rows(rows, kept)
        columns = list(taken.columns)
        columns[closing.window_end] = FewColumn(column.type, [*ends])
        return FewRows(columns, taken.positions)

    return apply


def _close(closing: Closing, end: int) -> Root:
    return Root(close_time(end, closing.delay_us, closing.grain_us), PUNCTUATION)


def _few_expiry(function: ToExpiry) -> FewFunction:
    delay, grain = function.delay_us, function.grain_us

    def apply(rows: FewRows) -> FewRows:
        values: list[Value] = []
        for index, time in enumerate(rows.columns[function.time_column].values):
            assert isinstance(time, int)
            until, root = time + function.wait_us, rows.positions.root(index)
            values.append(expiry_time(until, root.time, delay, grain))
        return FewRows([*rows.columns, FewColumn(TIMESTAMP, values)], rows.positions)

    return apply


def _few_expired(function: Expired) -> FewFunction:
    delay, grain = function.delay_us, function.grain_us

    def apply(rows: FewRows) -> FewRows:
        kept = []
        for index, time in enumerate(rows.columns[function.time_column].values):
            assert isinstance(time, int)
            watermark = watermark_at(rows.positions.root(index).time, delay, grain)
            if watermark > time + function.wait_us:
                kept.append(index)
        return _take_rows(rows, kept)

    return apply


def _few_row_times(rows: FewRows) -> FewRows:
    places = range(len(rows.positions))
    times: list[Value] = [min(rows.positions.root(each).time, TIMESTAMP_MAX) for each in places]
    return FewRows([*rows.columns, FewColumn(TIMESTAMP, times)], rows.positions)


def _few_punctual(closing: Closing, *, keep_late: bool) -> FewFunction:
    def apply(rows: FewRows) -> FewRows:
        kept = []
        for index, end in enumerate(rows.columns[closing.window_end].values):
            assert isinstance(end, int)
            if (rows.positions.root(index) > _close(closing, end)) is keep_late:
                kept.append(index)
        return _take_rows(rows, kept)

    return apply


def _repeat(rows: FewRows, repeats: Repeats, added: Sequence[FewColumn]) -> FewRows:
    """Return the repeated rows, by reference, with columns added."""
    columns = [FewColumn(each.type, repeats=(each, repeats.row)) for each in rows.columns]
    return FewRows([*columns, *added], repeat_batch(rows.positions, repeats, ()))


def _few_compute(expressions: Sequence[Expression]) -> FewFunction:
    used = _used_columns([e for e in expressions if not isinstance(e, ColumnRef)])

    def apply(rows: FewRows) -> FewRows:
        values = rows.rows(used) if used else [()] * len(rows)
        columns = [
            rows.columns[expression.index]
            if isinstance(expression, ColumnRef)
            else FewColumn(expression.type, [evaluate(expression, row) for row in values])
            for expression in expressions
        ]
        return FewRows(columns, rows.positions)

    return apply


def _finds_ordinals(function: ExplodeAggregate, width: int) -> bool:
    """Return whether elements of an array are grouped by value, and their ordinals collected or counted."""
    return (
        _is_small(function.array)
        and function.predicate is None
        and len(function.keys) == 1
        and isinstance(key := function.keys[0], ColumnRef)
        and key.index == width
        and key.type.kind in {*TEXTUAL, Kind.BOOLEAN, *INTEGER_RANGES}
        and all(_is_of_ordinals(call, width) for call in function.aggregates)
    )


def _is_of_ordinals(call: AggregateCall, width: int) -> bool:
    argument = call.argument
    if call.function is AggregateFunction.COUNT and argument is None:
        return True
    of_ordinal = isinstance(argument, ColumnRef) and argument.index == width + 1
    return (
        call.function is AggregateFunction.ARRAY_AGG
        and of_ordinal
        and not call.directions
        and not call.ignore_nulls
    )


def _few_ordinals(function: ExplodeAggregate) -> FewFunction:
    used = _used_columns([function.array])
    key_type = function.keys[0].type

    def apply(rows: FewRows) -> FewRows:
        found: list[dict[Value, list[int]]] = []
        for row in rows.rows(used):
            ordinals: dict[Value, list[int]] = {}
            for index, element in enumerate(_elements(evaluate(function.array, row)), 1):
                if element in ordinals:
                    ordinals[element].append(index)
                else:
                    ordinals[element] = [index]
            found.append(ordinals)
        repeats = repeats_of(np.array(list(map(len, found)), np.int64))
        added = [FewColumn(key_type, [key for ordinals in found for key in ordinals])]
        listed = [each for ordinals in found for each in ordinals.values()]
        sizes = np.array(list(map(len, listed)), np.int64)
        for call in function.aggregates:
            if call.function is AggregateFunction.COUNT:
                added.append(FewColumn(call.type, array=pa.array(sizes)))
                continue
            all_ordinals = np.array(list(chain.from_iterable(listed)), np.int64)
            from fsql.runtime.kernels.maps.lateral import lists

            array = lists(pa.array(all_ordinals), sizes)
            remember_values(array, listed)
            added.append(FewColumn(call.type, array=array))
        return _repeat(rows, repeats, added)

    return apply
