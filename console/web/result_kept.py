"""The result of a trial as it is kept for the page: its changes, its current rows, and its numbers."""

from __future__ import annotations

import json
import math
from array import array
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from fsql.compiler.sqltypes import Kind
from fsql.console.web.m4 import kept_points
from fsql.job.net_rows import NetRows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.logical import SinkTable

CHANGES_KEPT: Final = 200
ROWS_SHOWN: Final = 200
POINTS_MAX: Final = 200_000
"""The most rows that are kept for charts, the newest; a chart that is shown keeps its older points."""
CURRENT_MAX: Final = 100_000
"""More current rows of an updating result end the trial."""
SERIES_MAX: Final = 8
BARS_MAX: Final = 40
WIDTH_MAX: Final = 4_000

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
_REMOVES: Final = frozenset({"-U", "-D"})

Row = dict[str, Any]
Fields = dict[str, Any]


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a chart shows: `y` over `x`, or over the number of the row, with a line for each value of `by`.

    `start` and `end` are the range of x that is shown, None for all.  `height` does not change the points.
    """

    y: str
    x: str | None = None
    by: str | None = None
    kind: str = "line"
    width: int = 800
    start: float | None = None
    end: float | None = None


class KeptResult:
    """Takes the released rows of a result, each once, in their order."""

    def __init__(self, sink: SinkTable) -> None:
        self.columns = [
            {"name": column.name, "type": str(column.type), "role": _role(column.type.kind)}
            for column in sink.columns
        ]
        self.changes_kind = sink.changes.value
        self.released = 0
        self._appends = sink.changes.value == "append"
        self._operation = None if self._appends else sink.operation_column
        self._net = NetRows(sink, in_place=True)
        self._roles = {str(column["name"]): str(column["role"]) for column in self.columns}
        self._new: deque[Row] = deque(maxlen=CHANGES_KEPT)
        self._points: deque[Row] = deque(maxlen=POINTS_MAX)
        self._drawn: _Lines | None = None

    @property
    def operation(self) -> str | None:
        """Return the name of the field that says what a change is; None if rows are only added."""
        return self._operation

    @property
    def too_large(self) -> bool:
        """Return whether there are more current rows than are kept."""
        return not self._appends and len(self._net) > CURRENT_MAX

    def write(self, data: memoryview) -> None:
        """Take complete lines of JSON, each a change."""
        for line in bytes(data).splitlines():
            change: Row = json.loads(line)
            self.released += 1
            self._new.append(change)
            if self._appends:
                self._points.append(change)
                if self._drawn is not None:
                    self._drawn.add(change)
            else:
                self._net.apply(change)

    def flush(self) -> None:
        """Do nothing: rows are shown at times of their own."""

    def news(self) -> Fields:
        """Return the changes since the last call, as many as are kept, and some of the current rows."""
        new, self._new = list(self._new), deque(maxlen=CHANGES_KEPT)
        if self._appends:
            count = self.released
            rows = [self._points[at] for at in range(-min(ROWS_SHOWN, len(self._points)), 0)]
        else:
            count, rows = len(self._net), self._net.rows()[:ROWS_SHOWN]
        return {"released": self.released, "changes": new, "rows": rows, "row_count": count}

    def plot(self, view: View) -> Fields:
        """Return the points of a chart.

        Raises:
            ValueError: if the view names columns that are not there, or that are no numbers.
        """
        if self._roles.get(view.y) != "number":
            raise ValueError(f'"{view.y}" is no column of numbers')
        if view.x is not None and self._roles.get(view.x) not in {"number", "time"}:
            raise ValueError(f'"{view.x}" is no column of numbers or times')
        if view.by is not None and view.by not in self._roles:
            raise ValueError(f'"{view.by}" is no column')
        rows: Iterable[Row] = self._points if self._appends else self._net.rows()
        if view.kind == "bar":
            return self._bars(view, rows)
        lines = self._drawn
        if lines is None or not self._appends or lines.columns != (view.x, view.y, view.by):
            lines = _Lines(view.x, view.y, view.by)
            for row in rows:
                lines.add(row)
            self._drawn = lines if self._appends else None
        return {**lines.plot(view), "time": view.x is not None and self._roles[view.x] == "time"}

    def _bars(self, view: View, rows: Iterable[Row]) -> Fields:
        """Return the greatest values, each with its name; of several of one name, the last."""
        found = {}
        for number, row in enumerate(rows):
            value = _number(row[view.y])
            if value is not None:
                found[str(number) if view.by is None else _text(row[view.by])] = value
        greatest = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return {"kind": "bar", "bars": greatest[:BARS_MAX], "more": max(0, len(found) - BARS_MAX)}


class _Lines:
    """The points of a chart by the name of their line; points of later rows are added."""

    def __init__(self, x: str | None, y: str, by: str | None) -> None:
        self.columns = (x, y, by)
        self._points: dict[str, tuple[array[float], array[float]]] = {}
        self._rows = 0

    def add(self, row: Row) -> None:
        """Add the point of a row, unless it has none."""
        x_name, y_name, by = self.columns
        y = _number(row[y_name])
        x = float(self._rows) if x_name is None else _number(row[x_name])
        self._rows += 1
        if x is None or y is None:
            return
        name = "" if by is None else _text(row[by])
        points = self._points.get(name)
        if points is None:
            points = self._points[name] = (array("d"), array("d"))
        points[0].append(x)
        points[1].append(y)

    def plot(self, view: View) -> Fields:
        """Return the points that decide the pixels of the lines with the most points."""
        names = sorted(self._points, key=lambda name: (-len(self._points[name][0]), name))
        # Copies: an array cannot grow while NumPy looks at it.
        lines = {
            name: tuple(np.array(values) for values in self._points[name])
            for name in sorted(names[:SERIES_MAX])
        }
        least = min((float(x.min()) for x, _ in lines.values()), default=0.0)
        greatest = max((float(x.max()) for x, _ in lines.values()), default=1.0)
        start = least if view.start is None else view.start
        end = math.nextafter(greatest, math.inf) if view.end is None else view.end
        if not start < end:
            start, end = start - 0.5, start + 0.5
        width = max(1, min(WIDTH_MAX, view.width))
        series = []
        for name, (x, y) in lines.items():
            kept = kept_points(x, y, start, end, width)
            pairs = [[float(x[at] - start), float(y[at])] for at in kept]
            series.append({"name": name, "points": pairs})
        return {
            "kind": "line",
            "start": start,
            "end": end,
            "range": [least, greatest],
            "series": series,
            "more": max(0, len(names) - SERIES_MAX),
            "count": sum(len(x) for x, _ in self._points.values()),
        }


def _role(kind: Kind) -> str:
    if kind in NUMBERS:
        return "number"
    return "time" if kind in TIMES else "text"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: object) -> float | None:
    """Return a number, or a time as seconds since 1970; None for NULL and what is not finite."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _number_of_text(value)
    if isinstance(value, int | float):
        found = float(value)
        return found if math.isfinite(found) else None
    return None


def _number_of_text(text: str) -> float | None:
    """Return the number of a decimal, or the time, that a text of JSON has."""
    try:
        found = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return found if math.isfinite(found) else None
