"""M4 draws: the line through the points that SQL returns has the pixels of the line through all rows.

MIN and MAX of each column, and every n-th point, have thousands of wrong pixels on the same lines.  Pixels
are those of Bresenham's lines, without blending; what these tests cannot find is how a browser rounds.
"""

from __future__ import annotations

import datetime
import json
import random
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import fsql
from fsql.tests.ui.test_m4 import line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pytest

    Point = tuple[int, float]
    Pixels = set[tuple[int, int]]

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


SEEDS: Final = 6


class Chart(NamedTuple):
    """A chart of times from 0 on and of values between two bounds."""

    end: int
    width: int
    height: int
    low: float
    high: float

    def pixel(self, point: Point) -> tuple[int, int]:
        time, value = point
        y = int(self.height * (value - self.low) / (self.high - self.low))
        return self.width * time // self.end, min(self.height - 1, y)

    def pixels(self, points: Iterable[tuple[int, int]]) -> Pixels:
        """Return the pixels of the line through points that are pixels."""
        places = list(points)
        found = set(places)
        for before, after in pairwise(places):
            found |= line(*before, *after)
        return found

    def drawn(self, points: Iterable[Point]) -> Pixels:
        return self.pixels(map(self.pixel, points))


def drawn_line(seed: int) -> tuple[list[Point], Chart]:
    """Return a line with jumps, many of whose points have one time, and its chart."""
    drawn = random.Random(seed)
    width, height = drawn.choice((20, 50, 120)), drawn.choice((40, 100, 200))
    value, time, points = 0.0, 0, []
    for _ in range(drawn.choice((500, 3000))):
        value += drawn.gauss(0, 1) * (20 if drawn.random() < 0.005 else 1)
        time += drawn.choice((0, 0, 1, 1, 2, 5))
        points.append((time, value))
    end = -(-(time + 1) // width) * width
    values = [value for _, value in points]
    return points, Chart(end, width, height, min(values), max(values))


def written(points: Sequence[Point], seed: int) -> str:
    """Return the rows as lines, some of them later than others; rows of one time in their order."""
    drawn = random.Random(f"order {seed}")
    late = {time: drawn.choice((0, 0, 0, 40)) for time, _ in points}
    rows = sorted(points, key=lambda point: point[0] + late[point[0]])
    return "".join(
        json.dumps({"at": f"{EPOCH + datetime.timedelta(milliseconds=time):%FT%T.%fZ}", "v": value})
        + "\n"
        for time, value in rows
    )


TABLE: Final = """
CREATE TABLE p (at TIMESTAMP, v DOUBLE, WATERMARK FOR at AS at - INTERVAL '0.1' SECOND)
WITH ('connector' = 'file', 'path' = 'p.jsonl');
"""


FOUR: Final = (
    "first_at, first_value, last_at, last_value, least_at, least_value, greatest_at, greatest_value"
)


def millis(time: datetime.datetime) -> int:
    return round((time.replace(tzinfo=datetime.UTC) - EPOCH) / datetime.timedelta(milliseconds=1))


def chosen(rows: Iterable[tuple[Any, ...]]) -> list[Point]:
    """Return the points of columns: pairs of a time and a value, by column and in the order of the line."""
    points: list[Point] = []
    for row in rows:
        first, last, *inner = [
            (millis(row[place]), row[place + 1]) for place in range(0, len(row), 2)
        ]
        points += dict.fromkeys([first, *sorted(inner, key=lambda point: point[0]), last])
    return points


def test_the_points_of_sql_draw_all_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = Counter[str]()
    for seed in range(SEEDS):
        points, chart = drawn_line(seed)
        (tmp_path / "p.jsonl").write_text(written(points, seed))
        wrong += wrong_pixels(points, chart)
    assert wrong["M4"] == wrong["M4 of a chart"] == wrong["pixels"] == 0
    assert wrong["MIN and MAX"] > 100
    assert wrong["every n-th"] > 1000


def wrong_pixels(points: Sequence[Point], chart: Chart) -> Counter[str]:
    """Return the number of pixels that differ from those of all points, for each way to choose some."""
    end = EPOCH + datetime.timedelta(milliseconds=chart.end)
    bounds = f"TIMESTAMP '{EPOCH:%F %T}', TIMESTAMP '{end:%F %T.%f}'"
    span = f"INTERVAL '{chart.end / 1000}' SECOND"
    column = f"M4(TABLE p, DESCRIPTOR(at), DESCRIPTOR(v), {chart.width}, {span})"
    whole = "FROM TUMBLE(p, at, INTERVAL '1' DAY) GROUP BY window_start, window_end"
    of_columns = rows(f"{TABLE}SELECT {FOUR} FROM {column};")
    ((array,),) = rows(f"{TABLE}SELECT M4(v, at, {bounds}, {chart.width}) {whole};")
    ((pixels,),) = rows(
        f"{TABLE}SELECT M4(v, at, {bounds}, {chart.width}, {chart.height}) {whole};"
    )
    all_points = chart.drawn(points)
    by_column = chosen(of_columns)
    assert len(by_column) <= 4 * chart.width
    drawn = {
        "M4": chart.drawn(by_column),
        "M4 of a chart": chart.drawn([(millis(each["at"]), each["value"]) for each in array]),
        "pixels": chart.pixels([(each["x"], each["y"]) for each in pixels]),
        "MIN and MAX": chart.drawn(point for row in of_columns for point in chosen([row[4:]])),
        "every n-th": chart.drawn(points[:: max(1, len(points) // len(by_column))]),
    }
    return Counter({name: len(found ^ all_points) for name, found in drawn.items()})


def rows(script: str) -> list[tuple[Any, ...]]:
    """Return the rows that the query of a script returns."""
    return [tuple(row.values()) for _, row in fsql.sql(script)]
