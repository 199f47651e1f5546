"""What charts show of a result: lines by the points that decide their pixels, and bars."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from fsql.compiler.sqltypes import Kind
from fsql.console.web.m4 import kept_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from fsql.compiler.schema import Column

    Floats = NDArray[np.float64]

SERIES_MAX: Final = 8
BARS_MAX: Final = 40
WIDTH_MAX: Final = 4_000
STEPS: Final = 32
"""A range of x that grows is shown up to the next of at least so many equal parts of it."""

NUMBERS: Final = frozenset(
    {
        Kind.TINYINT,
        Kind.SMALLINT,
        Kind.INT,
        Kind.BIGINT,
        Kind.FLOAT,
        Kind.DOUBLE,
        Kind.DECIMAL,
        Kind.UTINYINT,
        Kind.USMALLINT,
        Kind.UINT,
        Kind.UBIGINT,
    }
)
TIMES: Final = frozenset({Kind.TIMESTAMP, Kind.DATE})

Fields = dict[str, Any]


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a chart shows: `y` over `x`, or over the number of the row, with a line for each value of `by`.

    `start` and `end` are the range of x that is shown, None for all; `last` shows so much of x up to its
    greatest.  `height` does not change the points.
    """

    y: str
    x: str | None = None
    by: str | None = None
    kind: str = "line"
    width: int = 800
    start: float | None = None
    end: float | None = None
    last: float | None = None


def columns_of(columns: Iterable[Column]) -> list[Fields]:
    """Return the columns of a result as the page takes them, with what a chart can use them for."""
    return [
        {"name": column.name, "type": str(column.type), "role": _role(column.type.kind)}
        for column in columns
    ]


def _role(kind: Kind) -> str:
    if kind in NUMBERS:
        return "number"
    return "time" if kind in TIMES else "text"


def check_view(view: View, roles: Mapping[str, str]) -> None:
    """Check that a view fits the columns of a result.

    Raises:
        ValueError: if it names columns that are not there, or that are no numbers.
    """
    if view.kind == "table":
        return
    if roles.get(view.y) != "number":
        raise ValueError(f'"{view.y}" is no column of numbers')
    if view.x is not None and roles.get(view.x) not in {"number", "time"}:
        raise ValueError(f'"{view.x}" is no column of numbers or times')
    if view.by is not None and view.by not in roles:
        raise ValueError(f'"{view.by}" is no column')


def bars(view: View, values: Mapping[str, float]) -> Fields:
    """Return the greatest values, each with its name."""
    del view
    greatest = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {"kind": "bar", "bars": greatest[:BARS_MAX], "more": max(0, len(values) - BARS_MAX)}


def drawn_lines(
    view: View,
    lines: Mapping[str, tuple[Floats, Floats]],
    more: int,
    count: int,
    *,
    in_steps: bool = False,
) -> Fields:
    """Return the points that decide the pixels of lines, which are shown in the order of their names.

    `more` lines of `count` points in all are not among them.  With `in_steps` a range that follows the points
    grows by parts of itself, so that most points of a chart stay as they were from one time to the next.
    """
    least = min((float(x.min()) for x, _ in lines.values() if len(x)), default=0.0)
    greatest = max((float(x.max()) for x, _ in lines.values() if len(x)), default=1.0)
    start, end = _shown(view, least, greatest, in_steps=in_steps)
    width = max(1, min(WIDTH_MAX, view.width))
    series = []
    for name in sorted(lines):
        x, y = lines[name]
        kept = kept_points(x, y, start, end, width)
        points = np.stack([x[kept] - start, y[kept]], axis=1).tolist()
        series.append({"name": name, "points": points})
    return {
        "kind": "line",
        "start": start,
        "end": end,
        "range": [least, greatest],
        "series": series,
        "more": more,
        "count": count,
    }


def _shown(view: View, least: float, greatest: float, *, in_steps: bool) -> tuple[float, float]:
    """Return the range of x that a view shows."""
    start = least if view.start is None else view.start
    end = math.nextafter(greatest, math.inf) if view.end is None else view.end
    if view.last is not None and view.start is None and view.last > 0:
        step = view.last / STEPS
        end = (math.floor(greatest / step) + 1) * step
        start = end - view.last
    elif in_steps and view.end is None and start < greatest:
        step = 2.0 ** math.floor(math.log2(greatest - start)) / STEPS
        end = start + (math.floor((greatest - start) / step) + 1) * step
    if not start < end:
        start, end = start - 0.5, start + 0.5
    return start, end


def text_of(value: object) -> str:
    """Return the name of a line or a bar."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
