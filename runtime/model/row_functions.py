"""The map functions of single rows, which evaluate expressions over them.

Each is a function (function node, row, root) → rows.  A row whose expression fails becomes a `Failure`,
with the row's weight: see `apply_to_row`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler import graph as g
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.time_zones import offset_of, window_bounds
from fsql.compiler.logical import WindowBound, close_time, expiry_time, watermark_at
from fsql.compiler.sqltypes import TIMESTAMP_MAX
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.model.combine_sessions import session_root
from fsql.runtime.model.item import Failure, Row
from fsql.runtime.model.lateral import aggregate_elements, elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.runtime.model.item import Values


def apply_to_row(function: g.MapFunction, row: Row, root: Root) -> list[Row] | list[Failure]:
    """Return the output rows of `function` for a row at `root`, or the failure of the row."""
    try:
        return ROW_FUNCTIONS[type(function)](function, row, root)
    except RowFailure as failure:
        return [Failure(failure.code, str(failure), row.weight)]


def closing_root(closing: g.Closing, row: Row) -> Root:
    """Return the position of the punctuation that closes the window of `row`."""
    window_end = row.values[closing.window_end]
    assert isinstance(window_end, int)
    if isinstance(closing, g.SessionClosing):
        return session_root(closing, window_end)
    return Root(close_time(window_end, closing.delay_us, closing.grain_us), PUNCTUATION)


def closing_roots(closing: g.Closing, row: Row) -> tuple[Root, ...]:
    """Return the positions of the punctuations that close the windows of `row`."""
    if isinstance(closing, g.SliceClosing):
        return tuple(dict.fromkeys(window_root(closing, end) for end in ends_of_row(closing, row)))
    return (closing_root(closing, row),)


def _select(function: g.Select, row: Row, _root: Root) -> list[Row]:
    return [row] if evaluate(function.predicate, row.values) is True else []


def _compute(function: g.Compute, row: Row, _root: Root) -> list[Row]:
    values = tuple(evaluate(expression, row.values) for expression in function.expressions)
    return [Row(values, row.path, row.weight)]


def _explode(function: g.Explode, row: Row, _root: Root) -> list[Row]:
    array = evaluate(function.array, row.values)
    return [
        _below(row, index, element)
        for index, element in enumerate(elements(array, ordinality=function.ordinality))
    ]


def _explode_aggregate(function: g.ExplodeAggregate, row: Row, _root: Root) -> list[Row]:
    groups = aggregate_elements(function, row.values)
    return [_below(row, index, group) for index, group in enumerate(groups)]


def _to_windows(function: g.ToWindows, row: Row, _root: Root) -> list[Row]:
    """Return the row once for each window `[start, start + size)` of its time, in ascending order.

    Raises:
        RowFailure: E504, if a window reaches beyond the years 1 to 9999.
    """
    time = row.values[function.time_column]
    assert isinstance(time, int)
    since_offset = time + offset_of(time, function.zone) - function.offset_us
    last = since_offset // function.slide_us
    first = (since_offset - function.size_us) // function.slide_us + 1
    starts = [function.offset_us + k * function.slide_us for k in range(first, last + 1)]
    windows = [window_bounds(start, function.size_us, function.zone) for start in starts]
    return [_below(row, index, window) for index, window in enumerate(windows)]


def _to_slices(function: g.ToSlices, row: Row, _root: Root) -> list[Row]:
    """Return the row with the bounds of its first window, and the end of its last one.

    Raises:
        RowFailure: E504, if a window reaches beyond the years 1 to 9999.
    """
    time = row.values[function.time_column]
    assert isinstance(time, int)
    since_offset = time - function.offset_us
    last = since_offset // function.slide_us
    first = (since_offset - function.size_us) // function.slide_us + 1
    starts = [function.offset_us + k * function.slide_us for k in range(first, last + 1)]
    windows = [window_bounds(start, function.size_us, function.zone) for start in starts]
    ends = [end for _, end, _ in windows]
    if function.until is not None:
        until = row.values[function.until]
        assert isinstance(until, int)
        ends = [end for end in ends if end <= until]
    return [_below(row, 0, (*windows[0], ends[-1]))] if ends else []


def ends_of_row(closing: g.SliceClosing, row: Row) -> range:
    """Return the ends of the windows of a row of `ToSlices`."""
    first, last = row.values[closing.window_end], row.values[closing.last_end]
    assert isinstance(first, int)
    assert isinstance(last, int)
    return range(first, last + 1, closing.slide_us)


def window_root(closing: g.Closing, end: int) -> Root:
    """Return the position at which a window closes."""
    return Root(close_time(end, closing.delay_us, closing.grain_us), PUNCTUATION)


def _on_time_slices(function: g.OnTimeSlices, row: Row, root: Root) -> list[Row]:
    closing = function.closing
    on_time = [end for end in ends_of_row(closing, row) if root <= window_root(closing, end)]
    if not on_time:
        return []
    values = list(row.values)
    values[closing.window_end] = on_time[0]
    return [Row(tuple(values), row.path, row.weight)]


def _late_windows(function: g.LateWindows, row: Row, root: Root) -> list[Row]:
    late = []
    for index, end in enumerate(ends_of_row(function.closing, row)):
        if root > window_root(function.closing, end):
            bounds = (end - function.size_us, end, end - 1)
            of_window = dict(zip(WindowBound, bounds, strict=True))
            values = list(row.values[:-1])
            for column, bound in function.bounds:
                values[column] = of_window[bound]
            late.append(Row(tuple(values), (*row.path[:-1], index), row.weight))
    return late


def _to_expiry(function: g.ToExpiry, row: Row, root: Root) -> list[Row]:
    time = row.values[function.time_column]
    assert isinstance(time, int)
    until = time + function.wait_us
    expires = expiry_time(until, root.time, function.delay_us, function.grain_us)
    return [Row((*row.values, expires), row.path, row.weight)]


def _expired(function: g.Expired, row: Row, root: Root) -> list[Row]:
    time = row.values[function.time_column]
    assert isinstance(time, int)
    passed = watermark_at(root.time, function.delay_us, function.grain_us)
    return [row] if passed > time + function.wait_us else []


def _to_row_time(_function: g.ToRowTime, row: Row, root: Root) -> list[Row]:
    return [Row((*row.values, min(root.time, TIMESTAMP_MAX)), row.path, row.weight)]


def _to_root(_function: g.ToRoot, row: Row, root: Root) -> list[Row]:
    return [Row((*row.values, *root), row.path, row.weight)]


def _to_parts(function: g.ToParts, row: Row, root: Root) -> list[Row]:
    parts = [0]
    if evaluate(function.key, row.values) in function.values:
        parts = [1 + part for part in range(function.parts)]
        if not function.copied:
            parts = [parts[sum((*root, *row.path)) % function.parts]]
    return [Row((*row.values, part), row.path, row.weight) for part in parts]


def _scan_rows(function: g.ScanRows, row: Row, _root: Root) -> list[Row]:
    return [_below(row, function.ordinal, ())]


def _renumber(function: g.Renumber, row: Row, _root: Root) -> list[Row]:
    return [Row(row.values, (function.ordinal,), row.weight)]


def _pad(function: g.Pad, row: Row, _root: Root) -> list[Row]:
    missing = function.depth - len(row.path)
    return [Row(row.values, row.path + (-1,) * missing, row.weight)]


def _side(function: g.Side, row: Row, _root: Root) -> list[Row]:
    return [Row(row.values, row.path, row.weight, function.side)]


def _on_time(function: g.OnTime, row: Row, root: Root) -> list[Row]:
    return [row] if root <= closing_root(function.closing, row) else []


def _late(function: g.Late, row: Row, root: Root) -> list[Row]:
    return [row] if root > closing_root(function.closing, row) else []


def _below(row: Row, index: int, added: Values) -> Row:
    """Return `row` with columns added, and `index` appended to its path."""
    return Row(row.values + added, (*row.path, index), row.weight)


ROW_FUNCTIONS: Final[Mapping[type[g.MapFunction], Callable[[Any, Row, Root], list[Row]]]] = {
    g.Select: _select,
    g.Compute: _compute,
    g.Explode: _explode,
    g.ExplodeAggregate: _explode_aggregate,
    g.ToWindows: _to_windows,
    g.ToSlices: _to_slices,
    g.ToExpiry: _to_expiry,
    g.Expired: _expired,
    g.ToRowTime: _to_row_time,
    g.ToRoot: _to_root,
    g.ToParts: _to_parts,
    g.ScanRows: _scan_rows,
    g.Renumber: _renumber,
    g.Pad: _pad,
    g.Side: _side,
    g.OnTime: _on_time,
    g.OnTimeSlices: _on_time_slices,
    g.LateWindows: _late_windows,
    g.Late: _late,
}
