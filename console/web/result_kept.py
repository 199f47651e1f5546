"""The result of a trial as it is kept for the page: its changes, its current rows, and its numbers."""

from __future__ import annotations

import json
import math
from array import array
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.console.web.drawing import SERIES_MAX, bars, check_view, columns_of, drawn_lines, text_of
from fsql.job.net_rows import NetRows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.logical import SinkTable
    from fsql.console.web.drawing import View

CHANGES_KEPT: Final = 200
ROWS_SHOWN: Final = 200
LINES_MAX: Final = 8
"""Of so many charts of different columns the points are kept."""
LINE_POINTS_MAX: Final = 1_000_000
"""A line with more points loses the older half of them."""
POINTS_MAX: Final = 200_000
"""The most rows that are kept for charts, the newest; a chart that is shown keeps its older points."""
CURRENT_MAX: Final = 100_000
"""More current rows of an updating result end the trial."""

Row = dict[str, Any]
Fields = dict[str, Any]


class KeptResult:
    """Takes the released rows of a result, each once, in their order."""

    def __init__(self, sink: SinkTable) -> None:
        self.columns = columns_of(sink.columns)
        self.changes_kind = sink.changes.value
        self.released = 0
        self._appends = sink.changes.value == "append"
        self._operation = None if self._appends else sink.operation_column
        self._net = NetRows(sink, in_place=True)
        self._roles = {str(column["name"]): str(column["role"]) for column in self.columns}
        self._new: deque[Row] = deque(maxlen=CHANGES_KEPT)
        self._points: deque[Row] = deque(maxlen=POINTS_MAX)
        self._drawn: dict[tuple[str | None, str, str | None], _Lines] = {}

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
                for lines in self._drawn.values():
                    lines.add(change)
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

    def newest(self) -> Fields:
        """Return the current rows that were changed last, the newest first, as a table shows them."""
        rows = list(self._points) if self._appends else self._net.rows()
        count = self.released if self._appends else len(rows)
        return {"kind": "table", "rows": rows[: -ROWS_SHOWN - 1 : -1], "row_count": count}

    def plot(self, view: View, *, in_steps: bool = False) -> Fields:
        """Return the points of a chart; `in_steps` is that of `drawn_lines`.

        Raises:
            ValueError: if the view names columns that are not there, or that are no numbers.
        """
        check_view(view, self._roles)
        rows: Iterable[Row] = self._points if self._appends else self._net.rows()
        if view.kind == "bar":
            return self._bars(view, rows)
        columns = (view.x, view.y, view.by)
        lines = self._drawn.get(columns)
        if lines is None:
            lines = _Lines(*columns)
            for row in rows:
                lines.add(row)
            if self._appends:
                while len(self._drawn) >= LINES_MAX:
                    del self._drawn[next(iter(self._drawn))]
                self._drawn[columns] = lines
        drawn = lines.plot(view, in_steps=in_steps)
        return {**drawn, "time": view.x is not None and self._roles[view.x] == "time"}

    def _bars(self, view: View, rows: Iterable[Row]) -> Fields:
        """Return the greatest values, each with its name; of several of one name, the last."""
        found = {}
        for number, row in enumerate(rows):
            value = _number(row[view.y])
            if value is not None:
                found[str(number) if view.by is None else text_of(row[view.by])] = value
        return bars(view, found)


class _Lines:
    """The points of a chart by the name of their line; points of later rows are added."""

    def __init__(self, x: str | None, y: str, by: str | None) -> None:
        self._columns = (x, y, by)
        self._points: dict[str, tuple[array[float], array[float]]] = {}
        self._rows = 0

    def add(self, row: Row) -> None:
        """Add the point of a row, unless it has none."""
        x_name, y_name, by = self._columns
        y = _number(row[y_name])
        x = float(self._rows) if x_name is None else _number(row[x_name])
        self._rows += 1
        if x is None or y is None:
            return
        name = "" if by is None else text_of(row[by])
        points = self._points.get(name)
        if points is None:
            points = self._points[name] = (array("d"), array("d"))
        points[0].append(x)
        points[1].append(y)
        if len(points[0]) > LINE_POINTS_MAX:
            for values in points:
                del values[: LINE_POINTS_MAX // 2]

    def plot(self, view: View, *, in_steps: bool) -> Fields:
        """Return the points that decide the pixels of the lines with the most points."""
        names = sorted(self._points, key=lambda name: (-len(self._points[name][0]), name))
        # Copies: an array cannot grow while NumPy looks at it.
        lines = {
            name: (np.array(self._points[name][0]), np.array(self._points[name][1]))
            for name in names[:SERIES_MAX]
        }
        more = max(0, len(names) - SERIES_MAX)
        count = sum(len(x) for x, _ in self._points.values())
        return drawn_lines(view, lines, more, count, in_steps=in_steps)


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
