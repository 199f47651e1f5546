"""The result of M4: the points of each column of a chart, chosen from all of its rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fsql.runtime.model.value_order import as_key, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.model.item import Values

    Point = tuple[Value, Value]
    """Time and value."""


def line_points(call: AggregateCall, entries: Sequence[tuple[Values, int, object]]) -> Value:
    """Return the result of M4 of rows with weights and places; NULL without points."""
    placed = [
        (place, order(row), (as_key(row[1]), as_key(row[0])))
        for row, _, place in entries
        if all(map(_is_finite, row))
    ]
    placed.sort(key=lambda entry: entry[:2])
    points: list[Point] = [point for *_, point in placed]
    if call.chart is None:
        return tuple(part for point in _chosen(points) for part in point) if points else None
    start, end, width, height = call.chart
    columns: dict[int, list[Point]] = {}
    for point in points:
        time = point[0]
        assert isinstance(time, int)
        if start <= time < end:
            columns.setdefault(width * (time - start) // (end - start), []).append(point)
    line = [(x, point) for x in sorted(columns) for point in _in_order(_chosen(columns[x]))]
    if height and line:
        heights = [float(point[1]) / 2 for _, point in line]  # type: ignore[arg-type]
        low, high = min(heights), max(heights)
        return tuple(
            (x, _pixel(at, low, high, height)) for (x, _), at in zip(line, heights, strict=True)
        )
    return tuple(point for _, point in line) or None


def _chosen(points: Sequence[Point]) -> tuple[Point, Point, Point, Point]:
    """Return the first, the last, the least and the greatest of points in the total order."""
    times = sorted(points, key=lambda point: order(point[0]))
    least = min(times, key=lambda point: order(point[1]))
    greatest = max(times, key=lambda point: order(point[1]))
    return times[0], times[-1], least, greatest


def _in_order(chosen: tuple[Point, Point, Point, Point]) -> list[Point]:
    first, last, least, greatest = chosen
    between = sorted((least, greatest), key=lambda point: order(point[0]))
    return list(dict.fromkeys((first, *between, last)))


def _pixel(height: float, low: float, high: float, pixels: int) -> int:
    if high <= low:
        return 0
    return min(math.floor((height - low) / (high - low) * pixels), pixels - 1)


def _is_finite(value: Value) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))
