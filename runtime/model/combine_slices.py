"""Slices: the open windows of a bucket of `CombineSlices`, each with its group, after each item.

This defines what windows mean, so it has no slices: a row is added to the group of each of its windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.logical import WindowBound
from fsql.runtime.model.accumulator import Accumulators, arguments
from fsql.runtime.model.combine_aggregate import Group
from fsql.runtime.model.item import Failure, Punctuation, Row, State
from fsql.runtime.model.row_functions import ends_of_row, window_root
from fsql.runtime.model.value_order import as_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.graph import CombineSlices
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Values

    OpenWindows = Mapping[int, Group]
    """The groups of the open windows, by the ends of the windows, in ascending order."""


def combine_slices(
    function: CombineSlices, windows: OpenWindows | None, item: Row | Punctuation, root: Root
) -> State:
    """Return the state after `item`."""
    windows = windows or {}
    if isinstance(item, Punctuation):
        closed = {
            end: group
            for end, group in windows.items()
            if window_root(function.closing, end) == root
        }
        caused = tuple(_window_row(function, end, group) for end, group in closed.items())
        opened = {end: group for end, group in windows.items() if end not in closed}
        return State(item, caused, opened)
    key = tuple(as_key(evaluate(expression, item.values)) for expression in function.keys)
    given = arguments(function.aggregates, item.values)
    after = dict(windows)
    for end in ends_of_row(function.closing, item):
        group = after.get(end) or Group(key, 0, Accumulators.of(function.aggregates))
        accumulators = group.accumulators.add(given, item.weight, (root, item.path))
        after[end] = Group(group.key, group.weight + item.weight, accumulators)
    return State(item, (), dict(sorted(after.items())))


def _window_row(function: CombineSlices, end: int, group: Group) -> Row | Failure:
    of_window = dict(zip(WindowBound, (end - function.size_us, end, end - 1), strict=True))
    key: Values = tuple(
        value if bound is None else of_window[bound]
        for value, bound in zip(group.key, function.bounds, strict=True)
    )
    try:
        return Row(key + group.accumulators.results(), (function.scan_number,))
    except RowFailure as failure:
        return Failure(failure.code, str(failure))
