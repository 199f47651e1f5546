"""The result of an updating query on a terminal: its current rows, updated in place."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from decimal import Decimal
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fsql.compiler.sqltypes import Kind
from fsql.console.change_table import column_widths, printable, text_column
from fsql.job.net_rows import NetRows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, RenderableType

    from fsql.compiler.analysis.result_order import ResultKey
    from fsql.compiler.logical import SinkTable
    from fsql.compiler.schema import Column
    from fsql.compiler.sqltypes import SqlType
    from fsql.job.net_rows import Row

_ROWS_MIN: Final = 5
_AROUND_ROWS: Final = 6
"""The lines of the terminal for the head of the table, its end and the prompt."""
_ROWS_MAX: Final = 1_000
"""The most rows that are shown when the query has ended."""
_BETWEEN_SECONDS: Final = 0.1
"""The minimum time between two updates of a table."""


_COMPARED: Final = frozenset({Kind.STRING, Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.TIMESTAMP})
"""The types, besides numbers, whose values in JSON are in the order of SQL."""


class _Number(str):
    """A number in its original form."""

    __slots__ = ()


class LiveTable:
    """A stream that receives JSON lines of changes and shows the current rows."""

    def __init__(self, sink: SinkTable, console: Console, order: Sequence[ResultKey] = ()) -> None:
        self._sink = sink
        self._order = order
        self._rows = NetRows(sink, in_place=True)
        self._console = console
        self._ended = False
        self._live = Live(
            console=console,
            get_renderable=self._table,
            auto_refresh=False,
        )
        self._next_refresh = 0.0
        self._live.start()

    def write(self, data: memoryview) -> None:
        """Apply the changes of complete lines."""
        for line in bytes(data).splitlines():
            self._rows.apply(json.loads(line, parse_int=_Number, parse_float=_Number))

    def flush(self) -> None:
        """Show the current rows, if the table was shown long enough."""
        now = time.monotonic()
        if now >= self._next_refresh:
            self._live.refresh()
            self._next_refresh = now + _BETWEEN_SECONDS

    def close(self) -> int:
        """Leave the table with all its rows, if there are not too many; return their number."""
        self._ended = True
        self._live.stop()
        return len(self._rows)

    def _table(self) -> RenderableType:
        most = max(_ROWS_MIN, self._console.height - _AROUND_ROWS)
        if self._ended:
            most = _ROWS_MAX
        rows = self._rows.rows()
        self._sort(rows)
        columns = [
            replace(text_column(each.name, each.type), least=0, wanted=0)
            for each in self._sink.columns
        ]
        cells = [[_cell(row.get(each.name)) for each in columns] for row in rows[:most]]
        width = self._console.width
        widths = column_widths(
            columns, [[str(cell) for cell in row] for row in cells], width, width
        )
        table = Table(
            box=None, pad_edge=False, header_style="" if self._console.no_color else "bold"
        )
        for column, own in zip(columns, widths, strict=True):
            table.add_column(
                Text(printable(column.name)),
                justify="right" if column.right else "left",
                width=own,
                no_wrap=True,
                overflow="ellipsis" if column.elastic else "fold",
            )
        for row in cells:
            table.add_row(*row)
        if len(rows) <= most:
            return table
        more = len(rows) - most
        return Group(table, Text(f"and {more:,} more row{'' if more == 1 else 's'}", style="dim"))

    def _sort(self, rows: list[Row]) -> None:
        """Sort rows by ORDER BY of the query; equal ones keep their places."""
        columns = self._sink.columns
        keys = [*takewhile(lambda key: _compared(columns[key.column].type), self._order)]
        # By the last key first, since each order is stable.
        for key in reversed(keys):
            rows.sort(key=_sort_keys(columns[key.column], key), reverse=key.descending)


def _compared(of: SqlType) -> bool:
    return of.numeric or of.kind in _COMPARED


def _sort_keys(column: Column, key: ResultKey) -> Callable[[Row], tuple[Any, ...]]:
    """Return a function whose results order rows by a column, ascending; `key` says where NULLs are."""
    nulls_are_greatest = key.nulls_first == key.descending

    def sort_key(row: Row) -> tuple[Any, ...]:
        compared = row.get(column.name)
        if compared is None:
            return (nulls_are_greatest,)
        if column.type.numeric:
            number = Decimal(compared)
            # NaN is the greatest number.
            compared = (number.is_nan(), Decimal(0) if number.is_nan() else number)
        elif column.type.kind is Kind.TIMESTAMP:
            # "10:00:00.5Z" is after "10:00:00Z".
            compared = compared.removesuffix("Z")
        return (not nulls_are_greatest, compared)

    return sort_key


def _cell(value: Any) -> Text:  # noqa: ANN401 - a value of JSON
    if value is None:
        return Text("NULL", style="dim")
    if isinstance(value, str):
        return Text(printable(value))
    return Text(printable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
