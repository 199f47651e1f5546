"""M4 by its definition: of the points of a line, or of each column of its chart, four.

Points are compared with each other one by one; there is no state, and nothing is combined.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, isfinite
from typing import TYPE_CHECKING, Any

from fsql.tests.reference.order import normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import AggregateCall, Value


def points_of_line(call: AggregateCall, rows: Sequence[tuple[Any, ...]]) -> Value:
    """Return M4 of rows (value, time) in the total order."""
    points = [
        (time + 0, value + 0)
        for value, time in rows
        if value is not None and time is not None and isfinite(value) and isfinite(time)
    ]
    if call.chart is None:
        if not points:
            return None
        return tuple(normalised(part) for point in four_of(points) for part in point)
    start, end, width, height = call.chart
    found: list[tuple[int, tuple[Any, Any]]] = []
    for column in range(width):
        inside = [
            point
            for point in points
            if start <= point[0] < end
            and floor(Fraction(point[0] - start, end - start) * width) == column
        ]
        if inside:
            first, last, least, greatest = four_of(inside)
            middle = [greatest, least] if greatest[0] < least[0] else [least, greatest]
            line: list[tuple[Any, Any]] = []
            for point in (first, *middle, last):
                if point not in line:
                    line.append(point)
            found += [(column, point) for point in line]
    if not found:
        return None
    if not height:
        return tuple(tuple(normalised(part) for part in point) for _, point in found)
    half = [float(value) / 2 for _, (_, value) in found]
    span = max(half) - min(half)
    return tuple(
        (column, min(floor((value - min(half)) / span * height), height - 1) if span else 0)
        for (column, _), value in zip(found, half, strict=True)
    )


def four_of(points: Sequence[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    """Return the first, last, least and greatest point: of points that tie, the earliest, or the last one."""
    first = last = least = greatest = points[0]
    for time, value in points[1:]:
        if time < first[0]:
            first = (time, value)
        if time >= last[0]:
            last = (time, value)
        if value < least[1] or (value == least[1] and time < least[0]):
            least = (time, value)
        if value > greatest[1] or (value == greatest[1] and time < greatest[0]):
            greatest = (time, value)
    return first, last, least, greatest
