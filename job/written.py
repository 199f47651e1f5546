"""The outputs of a run: the rows that were written to each, and the rows that were not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.records import dataclass
from fsql.connectors.file.shard_files import shard_pattern
from fsql.job.file_uses import FileUses
from fsql.job.sinks import late_operators

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.compiler.logical import SinkTable
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.runtime.dataflow.metrics import Metrics

LATE_PATH: Final = "late_path"
REJECTS_PATH: Final = "rejects_path"


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """The destination and number of the rows of a table, or of its late or malformed rows.

    The option `option` of the table names the `target`; it is "connector" if no option does.  `path` and
    `bytes`, the size of the whole file, are None if the target is not a regular file.  For a table with
    shards they are the pattern of its files, and the size of all files.
    """

    table: str
    option: str
    target: str
    rows: int
    path: str | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class UnkeptRows:
    """Rows that were counted but written nowhere; the option `option` of `table` would keep them."""

    table: str
    option: str
    rows: int


class LateCause(NamedTuple):
    """The row that moved the watermark most, its time, and that of the row after it that is most behind."""

    table: str
    split: str
    row: int
    time: str
    later_time: str


def written_outputs(compiled: Compiled, metrics: Metrics) -> list[WrittenOutput]:
    """Return all outputs of a job, in the order of the script, with the rows written to each."""
    files = FileUses(compiled)
    outputs = []
    for sink in dict.fromkeys(insert.sink for insert in compiled.job.inserts):
        option, target = target_of(sink)
        rows = metrics.sink(sink.name).rows
        paths = [use.path for use in files.of(sink.name, "path")]
        outputs.append(_output(sink.name, option, target, rows, paths))
    for number, insert in enumerate(compiled.job.inserts):
        for use in files.of(insert.sink.name, LATE_PATH):
            rows = _late_rows(compiled, number, metrics)
            outputs.append(_output(use.table, use.option, str(use.path), rows, [use.path]))
    for table in compiled.job.tables:
        for use in files.of(table.name, REJECTS_PATH):
            rows = metrics.source(table.name).rows_rejected
            outputs.append(_output(use.table, use.option, str(use.path), rows, [use.path]))
    return outputs


def unkept_rows(compiled: Compiled, metrics: Metrics) -> list[UnkeptRows]:
    """Return the rows that a run has counted but written nowhere."""
    inserts = compiled.job.inserts
    kept = {
        window
        for insert in inserts
        if LATE_PATH in dict(insert.sink.options)
        for window in late_operators(compiled.job, insert)
    }
    late = {
        insert.sink.name: sum(
            metrics.rows_late_by_window.get(window, 0)
            for window in late_operators(compiled.job, insert)
            if window not in kept
        )
        for insert in inserts
    }
    rejected = {
        table.name: metrics.source(table.name).rows_rejected
        for table in compiled.job.tables
        if REJECTS_PATH not in dict(table.options)
    }
    return [
        *(UnkeptRows(table, LATE_PATH, rows) for table, rows in late.items() if rows),
        *(UnkeptRows(table, REJECTS_PATH, rows) for table, rows in rejected.items() if rows),
    ]


def late_cause(compiled: Compiled, splits: Splits, metrics: Metrics) -> LateCause | None:
    """Return the row that made others late, where rows were late: the one that moved the watermark most."""
    behind = [
        (source.most_behind, table)
        for table in compiled.job.tables
        for source in [metrics.sources.get(table.name)]
        if source is not None and source.most_behind is not None
    ]
    if not metrics.rows_late or not behind:
        return None
    most, table = max(behind, key=lambda each: each[0].behind_us)
    split = splits[table.ordinal][most.split].name
    times = format_timestamp(most.time), format_timestamp(most.later_time)
    return LateCause(table.name, split, most.row, *times)


def target_of(sink: SinkTable) -> tuple[str, str]:
    """Return the option with the destination of the rows of a table, and its value."""
    options = dict(sink.options)
    option = next((each for each in ("path", "address", "topic") if each in options), "connector")
    target = options[option]
    return option, "standard output" if target == "stdout" else target


def _late_rows(compiled: Compiled, insert: int, metrics: Metrics) -> int:
    windows = late_operators(compiled.job, compiled.job.inserts[insert])
    return sum(metrics.rows_late_by_window.get(window, 0) for window in windows)


def _output(
    table: str, option: str, target: str, rows: int, paths: Sequence[Path]
) -> WrittenOutput:
    if not paths or not all(path.is_file() for path in paths):
        return WrittenOutput(table, option, target, rows, None, None)
    path = str(paths[0] if len(paths) == 1 else shard_pattern(paths[0]))
    size = sum(each.stat().st_size for each in paths)
    return WrittenOutput(table, option, path, rows, path, size)
