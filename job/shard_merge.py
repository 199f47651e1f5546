"""Merges the shards of a table: their rows in the total order, without positions.

Each shard is in the total order.  Rows of different shards are ordered by position, and rows of one root
position by the columns that `compiler.analysis.sharding` returns.  Rows that are equal in all of these are in
the same shard.
"""

from __future__ import annotations

import heapq
import io
import json
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

import pyarrow as pa

from fsql.compiler.analysis.sharding import sharding_of
from fsql.compiler.connectors import POSITION_COLUMN
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.map_entries import key_order
from fsql.compiler.functions.octets import parse_base64
from fsql.compiler.logical import Changes
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import INTEGER_RANGES, Kind
from fsql.connectors import paths
from fsql.connectors.file.compression import codec_in
from fsql.connectors.file.shard_files import shard_path
from fsql.connectors.settings import settings_of
from fsql.formats.json.keys import read_key
from fsql.formats.json.pieces import OUTPUT_BYTES_MAX
from fsql.runtime.dataflow.sharded_rows import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from fsql.compiler.analysis.sharding import Sharding
    from fsql.compiler.logical import Insert, SinkTable
    from fsql.compiler.sqltypes import SqlType

_PREFIX_BYTES_MAX: Final = 1 << 10
"""A bound on what a position adds to a row."""
_REMOVALS: Final = {"-U", "-D"}
_POSITION: Final = re.compile(
    rf'"{POSITION_COLUMN}":"(-?\d{{1,19}}){SEPARATOR}(-?\d{{1,19}})",'.encode()
)

_Key: TypeAlias = tuple[object, ...]
_Row: TypeAlias = tuple[_Key, bytes]
"""The sort key of a row, and its line without the position."""


@dataclass(frozen=True, slots=True)
class MergedRows:
    """The number of merged rows, and their size in bytes."""

    rows: int
    bytes: int


def shard_paths(insert: Insert, base_directory: Path) -> list[Path]:
    """Return the files of a sharded table, by shard.

    Raises:
        FsqlError: E531, if the path cannot be resolved.
    """
    shards = insert.sink.shards
    assert shards is not None
    path = paths.resolve(settings_of(insert.sink.options).text("path"), base_directory, ())
    return [shard_path(path, shard, shards) for shard in range(shards)]


def merge_shards(insert: Insert, files: Iterable[Path], target: BinaryIO) -> MergedRows:
    """Write the rows of all shards of an INSERT's table to `target`, in the total order.

    Raises:
        FsqlError: E531, if a shard cannot be read; E544, if its lines are not those of a shard.
        OSError: if `target` cannot be written.
    """
    sharding = sharding_of(insert)
    assert sharding is not None
    rows = written = 0
    shards = [_rows(insert.sink, sharding, path) for path in files]
    for _, line in heapq.merge(*shards, key=_key):
        target.write(line)
        rows, written = rows + 1, written + len(line)
    return MergedRows(rows, written)


def _key(row: _Row) -> _Key:
    return row[0]


def _rows(sink: SinkTable, sharding: Sharding, path: Path) -> Iterator[_Row]:
    """Yield the rows of a shard.

    Raises:
        FsqlError: E531 or E544.
    """
    order = _order_of(sink, sharding)
    begin = _position_begin(sink)
    previous: tuple[int, int] | None = None
    for number, line in enumerate(_lines(sink, path), 1):
        found = _POSITION.match(line, begin)
        if found is None or not line.endswith(b"\n"):
            reason = "has no position" if found is None else "is not complete"
            raise _no_shard(path, f"line {number} {reason}")
        root = int(found[1]), int(found[2])
        if previous is not None and root < previous:
            raise _no_shard(path, f"line {number} has a position below that of the line before")
        previous = root
        try:
            key = (root, *order(line))
        except (ValueError, TypeError, KeyError, RecursionError, RowFailure):
            raise _no_shard(path, f"line {number} is not a row of the table") from None
        yield key, line[:begin] + line[found.end() :]


def _position_begin(sink: SinkTable) -> int:
    """Return the offset in a line at which the field with the position begins."""
    if sink.changes is Changes.APPEND:
        return len("{")
    name = json.dumps(sink.operation_column, ensure_ascii=False)
    return len(f'{{{name}:"+I",'.encode())


def _order_of(sink: SinkTable, sharding: Sharding) -> Callable[[bytes], _Key]:
    """Return a function that returns the sort key of a line within its root position."""
    columns = [sink.columns[index] for index in sharding.ordered_by]
    if not columns and not sharding.removals_first:
        return lambda _: ()

    def order(line: bytes) -> _Key:
        row = json.loads(line, parse_float=str)
        direction = sharding.removals_first and row[sink.operation_column] not in _REMOVALS
        return (direction, *(_order(row[column.name], column.type) for column in columns))

    return order


def _order(value: object, sql_type: SqlType) -> _Key:  # noqa: C901, PLR0911 - one a kind
    """Return a key that sorts as a value of JSON does in the canonical order.

    Raises:
        TypeError, ValueError, RowFailure: if a column of the type does not have the value.
    """
    if value is None:
        return (2,)
    match sql_type.kind, value:
        case ((Kind.FLOAT | Kind.DOUBLE), str()):
            number = float(value)
            return (1,) if math.isnan(number) else (0, number)
        case Kind.DECIMAL, int() | str():
            return (0, Decimal(value))
        case Kind.BYTES, str():
            return (0, parse_base64(value))
        case Kind.TIMESTAMP, str():
            return (0, value.removesuffix("Z"))  # fewer digits of fraction sort first
        case Kind.ARRAY, list():
            assert sql_type.element is not None
            element = sql_type.element
            return (0, tuple(_order(each, element) for each in value))
        case Kind.MAP, dict():
            entries = (
                (key_order(read_key(text, sql_type.key)), _order(each, sql_type.value))
                for text, each in value.items()
            )
            return (0, tuple(entries))
        case Kind.ROW, dict():
            return (0, tuple(_order(value[name], each) for name, each in sql_type.fields))
        case ((Kind.STRING | Kind.DATE | Kind.TIME), str()) | (Kind.BOOLEAN, bool()):
            return (0, value)
        case kind, int() if kind in INTEGER_RANGES or kind in {Kind.INTERVAL, Kind.MONTHS}:
            return (0, value)
        case _:
            raise TypeError(sql_type)


def _lines(sink: SinkTable, path: Path) -> Iterator[bytes]:
    """Yield the lines of a shard, each with its end.

    Raises:
        FsqlError: E531.
    """
    codec = codec_in(path, settings_of(sink.options).text("compression"))
    try:
        with pa.input_stream(path, compression=codec) as stream:
            lines = io.BufferedReader(stream)
            while line := lines.readline(OUTPUT_BYTES_MAX + _PREFIX_BYTES_MAX):
                yield line
    except (OSError, pa.ArrowInvalid) as error:
        reason = error if isinstance(error, OSError) else str(error)
        raise paths.open_error("E531", path, reason) from None


def _no_shard(path: Path, reason: str) -> FsqlError:
    message = f'"{path}" is not a complete shard of the table: {reason}'
    helps = ("merge when the job has ended, with the script that wrote the shards",)
    return FsqlError([Diagnostic("E544", message, helps=helps)])
