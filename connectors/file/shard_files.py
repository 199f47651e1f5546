"""The files of a sharded table, and the lines in them: each has the root position of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.connectors import POSITION_COLUMN
from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import STRING
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.order import starts_of_runs

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.logical import SinkTable
    from fsql.runtime.cluster.delivery import Contents
    from fsql.runtime.ports import Release

SEPARATOR: Final = ":"
"""Separates the time and the origin of a position."""


def shard_path(path: Path, shard: int, shards: int) -> Path:
    """Return the path of a shard of the table with that `path`: `a.jsonl.gz` gives `a-0-of-4.jsonl.gz`.

    >>> from pathlib import Path
    >>> shard_path(Path("out/a.jsonl.gz"), 0, 4).as_posix()
    'out/a-0-of-4.jsonl.gz'
    """
    hidden = path.name[: len(path.name) - len(path.name.lstrip("."))]
    stem, dot, suffixes = path.name[len(hidden) :].partition(".")
    return path.with_name(f"{hidden}{stem}-{shard}-of-{shards}{dot}{suffixes}")


def shard_pattern(path: Path) -> Path:
    """Return the pattern of the paths of all shards, by that of the first.

    >>> from pathlib import Path
    >>> shard_pattern(shard_path(Path("out/a-0-of-9.jsonl"), 0, 4)).as_posix()
    'out/a-0-of-9-*-of-4.jsonl'
    """
    before, number, after = path.name.rpartition("-0-of-")
    return path.with_name(f"{before}-*{number.removeprefix('-0')}{after}")


class ShardLines:
    """Makes lines of the rows of a shard, with the field `position` before the columns of the table."""

    header = b""

    def __init__(self, sink: SinkTable) -> None:
        self._encoder = JsonEncoder(
            [POSITION_COLUMN, *(column.name for column in sink.columns)],
            [STRING, *(column.type for column in sink.columns)],
            None if sink.changes is Changes.APPEND else sink.operation_column,
        )

    def __call__(self, contents: Contents) -> list[memoryview]:
        """Return the lines of released rows."""
        assert isinstance(contents, Released)
        release = contents.release
        assert not release.encoded, "rows of sharded tables are encoded when they are written"
        columns = [_positions(release), *release.columns]
        return [memoryview(line) for line in self._encoder.encode(columns, release.operations)]


def _positions(release: Release) -> pa.DictionaryArray:
    """Return the position of each row as text; rows of one root stand together."""
    starts = starts_of_runs(release.time, release.origin)
    lengths = np.diff(np.append(starts, len(release.time)))
    roots = zip(release.time[starts].tolist(), release.origin[starts].tolist(), strict=True)
    texts = pa.array([f"{time}{SEPARATOR}{origin}" for time, origin in roots], pa.string())
    numbers = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
    return pa.DictionaryArray.from_arrays(pa.array(numbers), texts)
