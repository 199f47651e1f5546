"""The rows that are left after the changes of a table, updated change by change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.logical import SinkTable

    Row = dict[str, Any]

_REMOVES = frozenset({"-U", "-D"})


class NetRows:
    """The rows of a written table; equal rows are kept as often as they were added."""

    def __init__(self, sink: SinkTable, text: Callable[[object], str] = json.dumps) -> None:
        """Begin without rows; `text` returns equal texts for equal values."""
        self._operation = None if sink.changes.value == "append" else sink.operation_column
        upserts = sink.changes.value == "upsert"
        self._key = [sink.columns[at].name for at in sink.key or ()] if upserts else None
        self._text = text
        self._left: dict[str, list[Row]] = {}

    def apply(self, change: Mapping[str, Any]) -> None:
        """Add or remove the row of a change."""
        row = {name: value for name, value in change.items() if name != self._operation}
        key = self._text(self._key_of(row))
        if self._operation is not None and change[self._operation] in _REMOVES:
            rows = self._left.get(key)
            if rows:
                rows.pop()
            if not rows:
                self._left.pop(key, None)
        elif self._key is not None:
            self._left[key] = [row]
        else:
            self._left.setdefault(key, []).append(row)

    def rows(self) -> list[Row]:
        """Return the rows that are left, in the order in which they were first added."""
        return [row for rows in self._left.values() for row in rows]

    def __len__(self) -> int:
        """Return the number of rows that are left."""
        return sum(map(len, self._left.values()))

    def _key_of(self, row: Row) -> Sequence[object]:
        return list(row.values()) if self._key is None else [row.get(name) for name in self._key]
