"""The messages of released rows: key, value, and the position of the row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa

from fsql.compiler.connectors import METADATA
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import Changes
from fsql.connectors.kafka.message_key import KeyEncoder, MessageKey
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


HEADER: Final = "fsql"
"""The name of the header with the output and the position of a row."""
_NONE: Final = RowPosition(-1, -1, -1)


class RowMessage(NamedTuple):
    """A row as a message; a message without a value is a deletion of the row of its key."""

    key: bytes | None
    value: bytes | None
    position: RowPosition
    timestamp: int = 0
    """Milliseconds since 1970; if it is 0, the client takes the time of its clock."""
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RowMessages:
    """Makes the messages of a table; their positions count on from call to call."""

    def __init__(self, sink: SinkTable, key: MessageKey | None = None) -> None:
        """Take the table, and the columns of its key if the options of the table name them.

        Without them the key of a message is that of the table or of the query.
        """
        self._upserts = sink.changes is Changes.UPSERT
        written = replace(sink, changes=Changes.APPEND) if self._upserts else sink
        operation = None if written.changes is Changes.APPEND else sink.operation_column
        columns = sink.columns
        if key is None and sink.key:
            keys = tuple(columns[index] for index in sink.key)
            key = MessageKey("json", keys, tuple(each.name for each in keys), in_value=True)
        names = [each.name for each in columns]
        self._key = [] if key is None else [names.index(each.name) for each in key.columns]
        self._keys = None if key is None else KeyEncoder(key)
        self._metadata = _written_metadata(sink, names)
        apart = [] if key is None or key.in_value else self._key
        apart = [*apart, *self._metadata.values()]
        self._value = [index for index in range(len(columns)) if index not in apart]
        values = [columns[index] for index in self._value]
        self._values = JsonEncoder(
            [each.name for each in values], [each.type for each in values], operation
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
        written = [release.columns[index] for index in self._value]
        values = _lines(self._values.encode(written, None if self._upserts else operations))
        keys: Sequence[bytes | None] = [None] * count
        if self._keys is not None:
            keys = self._keys([release.columns[index] for index in self._key])
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
        return self._with_metadata(messages, release) if self._metadata else messages

    def _with_metadata(self, messages: list[RowMessage], release: Release) -> list[RowMessage]:
        """Return messages with the metadata that their rows have."""
        if "timestamp" in self._metadata:
            column = release.columns[self._metadata["timestamp"]]
            times = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
            messages = [
                message._replace(timestamp=0 if time is None else max(0, time // 1000))
                for message, time in zip(messages, times, strict=True)
            ]
        if "headers" in self._metadata:
            maps = release.columns[self._metadata["headers"]].to_pylist()
            messages = [
                message._replace(headers=_headers(entries))
                for message, entries in zip(messages, maps, strict=True)
            ]
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


def _written_metadata(sink: SinkTable, names: Sequence[str]) -> dict[str, int]:
    """Return the columns of a table that are metadata of its messages, by the key of the metadata."""
    pairs = dict(sink.options).get(METADATA, "")
    found = (pair.partition("=") for pair in pairs.split(";") if pair)
    return {key: names.index(name) for key, _, name in found}


def _headers(
    entries: Iterable[tuple[str, bytes | None] | dict[str, str | bytes | None]] | None,
) -> tuple[tuple[str, bytes | None], ...]:
    """Return the entries of a map as headers, without that of the position, which each row has anew."""
    pairs = (tuple(each.values()) if isinstance(each, dict) else each for each in entries or ())
    return tuple(
        (cast("str", name), cast("bytes | None", value)) for name, value in pairs if name != HEADER
    )


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
