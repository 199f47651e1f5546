"""The points that M4 keeps: they colour the pixels that all points colour.

The pixels are those of Bresenham's lines, without blending.  What these tests cannot find: how a browser
rounds.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fsql.console.web.m4 import kept_points

Pixels = set[tuple[int, int]]


def line(x0: int, y0: int, x1: int, y1: int) -> Pixels:
    found = set()
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    step_x, step_y = (1 if x0 < x1 else -1), (1 if y0 < y1 else -1)
    error = dx + dy
    while True:
        found.add((x0, y0))
        if (x0, y0) == (x1, y1):
            return found
        twice = 2 * error
        if twice >= dy:
            error += dy
            x0 += step_x
        if twice <= dx:
            error += dx
            y0 += step_y


def pixels(x: list[float], y: list[float], end: float, width: int, height: int) -> Pixels:
    """Return the pixels of a line through points, of those inside of the chart."""
    places = [(int(a * width // end), round(b * (height - 1))) for a, b in zip(x, y, strict=True)]
    found = set(places[:1])
    for before, after in pairwise(places):
        found |= line(*before, *after)
    return {(a, b) for a, b in found if 0 <= a < width}


@pytest.mark.parametrize("width", [1, 7, 40])
@pytest.mark.parametrize("seed", range(20))
def test_the_kept_points_colour_the_same_pixels(width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 300))
    xs, ys = random.integers(0, 1000, count), random.integers(0, 101, count)
    points = sorted(zip(xs.tolist(), ys.tolist(), strict=True), key=lambda point: point[0])
    x = [float(a) for a, _ in points]
    y = [b / 100 for _, b in points]
    kept = kept_points(np.array(x), np.array(y), 0.0, 1000.0, width)
    assert len(kept) <= 4 * width
    assert list(kept) == sorted(set(kept))
    some = pixels([x[at] for at in kept], [y[at] for at in kept], 1000.0, width, 50)
    assert some == pixels(x, y, 1000.0, width, 50)


def test_a_range_has_a_point_on_each_side() -> None:
    x = np.arange(100.0)
    kept = kept_points(x, np.sin(x), 40.0, 50.0, 1000)
    assert list(kept) == list(range(39, 51))
    assert list(kept_points(x, x, 99.5, 120.0, 5)) == [99]
    assert list(kept_points(x[:0], x[:0], 0.0, 1.0, 5)) == []


def test_points_that_are_not_sorted_by_x() -> None:
    """Late rows: the points are in the order of the line, and those of one x in their own."""
    x = np.array([3.0, 1.0, 1.0, 2.0])
    y = np.array([0.0, 5.0, 4.0, 9.0])
    assert list(kept_points(x, y, 0.0, 4.0, 4)) == [1, 2, 3, 0]


def test_a_million_points_are_few() -> None:
    x = np.arange(1_000_000.0)
    assert len(kept_points(x, np.sin(x), 0.0, 1_000_000.0, 1000)) <= 4000
