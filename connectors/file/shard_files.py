"""The files of a sharded table, and the lines in them: each has the root position of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.connectors import POSITION_COLUMN
from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import STRING
from fsql.connectors.released_lines import encoded_text
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.dataflow.sharded_rows import position_texts

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.logical import SinkTable
    from fsql.runtime.cluster.delivery.delivery import Contents


def shard_path(path: Path, shard: int, shards: int) -> Path:
    """Return the path of a shard of the table at `path`: `a-0-of-4.jsonl.gz` for `a.jsonl.gz`.

    >>> from pathlib import Path
    >>> shard_path(Path("out/a.jsonl.gz"), 0, 4).as_posix()
    'out/a-0-of-4.jsonl.gz'
    """
    hidden = path.name[: len(path.name) - len(path.name.lstrip("."))]
    stem, dot, suffixes = path.name[len(hidden) :].partition(".")
    return path.with_name(f"{hidden}{stem}-{shard}-of-{shards}{dot}{suffixes}")


def shard_pattern(path: Path) -> Path:
    """Return the pattern of the paths of all shards, given the path of the first.

    >>> from pathlib import Path
    >>> shard_pattern(shard_path(Path("out/a-0-of-9.jsonl"), 0, 4)).as_posix()
    'out/a-0-of-9-*-of-4.jsonl'
    """
    before, number, after = path.name.rpartition("-0-of-")
    return path.with_name(f"{before}-*{number.removeprefix('-0')}{after}")


class ShardLines:
    """Encodes the rows of a shard as lines, with the field `position` before the columns of the table."""

    header = b""

    def __init__(self, sink: SinkTable) -> None:
        self._encoder = shard_encoder(sink)

    def __call__(self, contents: Contents) -> list[memoryview]:
        """Return the lines of released rows; a worker may have encoded them already."""
        assert isinstance(contents, Released)
        release = contents.release
        if release.encoded:
            return [encoded_text(release)]
        columns = [position_texts(release.time, release.origin), *release.columns]
        return [memoryview(line) for line in self._encoder.encode(columns, release.operations)]


def shard_encoder(sink: SinkTable) -> JsonEncoder:
    """Return the encoder of the rows of a sharded table: their positions, and their columns."""
    return JsonEncoder(
        [POSITION_COLUMN, *(column.name for column in sink.columns)],
        [STRING, *(column.type for column in sink.columns)],
        None if sink.changes is Changes.APPEND else sink.operation_column,
    )
