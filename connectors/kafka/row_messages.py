"""The messages of released rows: key, value, and the position of the row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import Changes
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.ports import DELETE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.logical import SinkTable
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Release


class RowPosition(NamedTuple):
    """The place of a row in the total order: its root, and its number among the rows of the root."""

    time: int
    origin: int
    number: int


_NONE: Final = RowPosition(-1, -1, -1)


class RowMessage(NamedTuple):
    """A row as a message; a message without a value is a deletion of the row of its key."""

    key: bytes | None
    value: bytes | None
    position: RowPosition


class RowMessages:
    """Makes the messages of a table; their positions count on from call to call."""

    def __init__(self, sink: SinkTable) -> None:
        self._upserts = sink.changes is Changes.UPSERT
        written = replace(sink, changes=Changes.APPEND) if self._upserts else sink
        operation = None if written.changes is Changes.APPEND else sink.operation_column
        columns = sink.columns
        self._values = JsonEncoder(
            [each.name for each in columns], [each.type for each in columns], operation
        )
        self._key = sink.key or ()
        keys = [columns[index] for index in self._key]
        self._keys = (
            JsonEncoder([each.name for each in keys], [each.type for each in keys])
            if keys
            else None
        )
        self._last = _NONE

    def begin(self) -> None:
        """Count from the beginning of the next root: an epoch begins with a whole one."""
        self._last = _NONE

    def __call__(self, release: Release) -> list[RowMessage]:
        """Return the messages of released rows, in order."""
        count = len(release.time)
        operations = release.operations
        values: Sequence[bytes | None]
        values = _lines(self._values.encode(release.columns, None if self._upserts else operations))
        keys: Sequence[bytes | None] = [None] * count
        if self._keys is not None:
            keys = _lines(self._keys.encode([release.columns[index] for index in self._key], None))
        if self._upserts and operations is not None:
            deleted = (operations == DELETE).tolist()
            values = [None if gone else value for gone, value in zip(deleted, values, strict=True)]
        messages = [
            RowMessage(key, value, RowPosition(*position))
            for key, value, *position in zip(
                keys,
                values,
                release.time.tolist(),
                release.origin.tolist(),
                self._numbers(release).tolist(),
                strict=True,
            )
        ]
        if messages:
            self._last = messages[-1].position
        return messages

    def _numbers(self, release: Release) -> NDArray[np.int64]:
        """Return the number of each row among the rows of its root, which are consecutive."""
        time, origin = release.time, release.origin
        indexes = np.arange(len(time))
        begins = np.ones(len(time), np.bool_)
        begins[1:] = (time[1:] != time[:-1]) | (origin[1:] != origin[:-1])
        first = np.maximum.accumulate(np.where(begins, indexes, 0))
        numbers = indexes - first
        if len(time) and (time[0], origin[0]) == self._last[:2]:
            numbers[first == 0] += self._last.number + 1
        return numbers


def _lines(pieces: Iterable[bytes | memoryview]) -> list[bytes]:
    return b"".join(pieces).split(b"\n")[:-1]


def check_format(settings: Settings) -> None:
    """Check that rows of the format can be messages.

    Raises:
        FsqlError: E534, if they cannot.
    """
    format_ = settings.text("format")
    if format_ != "json":
        message = f"messages of format '{format_}' are not written"
        helps = ("write the table with format 'json'",)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
