"""The rows that are left after the changes of a table, updated change by change."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.logical import SinkTable

    Row = dict[str, Any]

_REMOVES = frozenset({"-U", "-D"})


class NetRows:
    """The rows of a written table; equal rows are kept as often as they were added."""

    def __init__(
        self,
        sink: SinkTable,
        text: Callable[[object], str] = json.dumps,
        *,
        in_place: bool = False,
    ) -> None:
        """Begin without rows; `text` returns equal texts for equal values.

        With `in_place` an updated row has the place of the row that it replaces among `rows`.
        """
        self._in_place = in_place
        self._places = 0
        self._freed: deque[int] = deque()
        """The places of rows whose updates come next."""
        self._operation = None if sink.changes.value == "append" else sink.operation_column
        upserts = sink.changes.value == "upsert"
        self._key = [sink.columns[at].name for at in sink.key or ()] if upserts else None
        self._text = text
        self._left: dict[str, list[tuple[int, Row]]] = {}
        """Rows with their places."""

    def apply(self, change: Mapping[str, Any]) -> None:
        """Add or remove the row of a change."""
        row = {name: value for name, value in change.items() if name != self._operation}
        key = self._text(self._key_of(row))
        operation = None if self._operation is None else change[self._operation]
        if operation not in {"-U", "+U"}:
            self._freed.clear()
        rows = self._left.get(key, [])
        if operation in _REMOVES:
            if rows:
                place, _ = rows.pop()
                if operation == "-U":
                    self._freed.append(place)
            if not rows:
                self._left.pop(key, None)
        elif self._key is not None and rows:
            rows[:] = [(rows[0][0], row)]
        else:
            self._left.setdefault(key, []).append((self._next_place(), row))

    def rows(self) -> list[Row]:
        """Return the rows that are left, in the order in which they were first added, or of their places."""
        placed = [each for rows in self._left.values() for each in rows]
        if self._in_place:
            placed.sort(key=lambda each: each[0])
        return [row for _, row in placed]

    def __len__(self) -> int:
        """Return the number of rows that are left."""
        return sum(map(len, self._left.values()))

    def _next_place(self) -> int:
        if self._freed:
            return self._freed.popleft()
        self._places += 1
        return self._places

    def _key_of(self, row: Row) -> Sequence[object]:
        return list(row.values()) if self._key is None else [row.get(name) for name in self._key]
