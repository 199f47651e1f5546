"""What a job reads and writes, by name, for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import TimeKind
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.connectors.file.source import FileSplit
from fsql.runtime.drivers.local import held_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.logical import Job, SinkTable, Table
    from fsql.runtime.ports import Split

_SPLITS_MAX: Final = 3
"""How many splits of a table are named."""


@dataclass(frozen=True, slots=True)
class JobOverview:
    """The names of what a job reads and writes.

    `input_bytes` is the size of its input, None where that is not known: live input, compressed files.
    `tables` has the table of each split, by the name that `RunMetrics.held_by` has.
    """

    sources: Sequence[str] = ()
    sinks: Sequence[str] = ()
    input_bytes: int | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)

    def min_time_text(self, held_by: str, min_time: int) -> str:
        """Return a min time that a split holds, as the kind of its time is written; "" if it has none."""
        table = self.tables.get(held_by)
        if table is None or not TIMESTAMP_MIN <= min_time <= TIMESTAMP_MAX:
            return ""
        if table.time is TimeKind.OFFSET:
            return f"row {min_time:,}"
        return format_timestamp(min_time) if table.time is TimeKind.EVENT else ""

    def watermark_text(self, held_by: str, min_time: int) -> str:
        """Return the watermark at a min time; "" if the split that holds it has no event time."""
        table = self.tables.get(held_by)
        if table is None or table.time is not TimeKind.EVENT:
            return ""
        watermark = (min_time - table.delay_us) // table.grain_us * table.grain_us
        in_range = watermark >= TIMESTAMP_MIN and min_time <= TIMESTAMP_MAX
        return format_timestamp(watermark) if in_range else ""


def describe_job(job: Job, splits: Mapping[int, Sequence[Split]]) -> JobOverview:
    """Return the overview of a job that reads these splits, by the ordinal of the table."""
    return JobOverview(
        [_source_text(table, splits[table.ordinal]) for table in job.tables],
        [_sink_text(insert.sink) for insert in job.inserts],
        _input_bytes(splits),
        {
            held_name(table.name, split.name): table
            for table in job.tables
            for split in splits[table.ordinal]
        },
    )


def _source_text(table: Table, splits: Sequence[Split]) -> str:
    names = [split.name for split in splits[:_SPLITS_MAX]]
    if len(splits) > _SPLITS_MAX:
        names.append(f"{len(splits) - _SPLITS_MAX:,} more")
    return held_name(table.name, ", ".join(names))


def _sink_text(sink: SinkTable) -> str:
    options = dict(sink.options)
    target = options.get("path") or options.get("address") or options["connector"]
    return target if target == sink.name else f"{sink.name} ({target})"


def _input_bytes(splits: Mapping[int, Sequence[Split]]) -> int | None:
    total = 0
    for of_table in splits.values():
        for split in of_table:
            if not isinstance(split, FileSplit) or split.codec is not None:
                return None
            try:
                total += split.path.stat().st_size
            except OSError:  # whoever opens it reports that
                return None
    return total or None
