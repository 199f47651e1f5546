"""The names of the sources and sinks of a job, for display."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, cast

from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import TimeKind
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.connectors.live.kinds import is_followed
from fsql.job.written import target_of
from fsql.runtime.drivers.local import held_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.logical import Job, SinkTable, Table
    from fsql.formats.factories import FileSplit
    from fsql.runtime.ports import Split

_SPLITS_MAX: Final = 3
"""The maximum number of splits of a table that are listed."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table that is read: its name, a text that also names its splits, and the size of its files.

    `bytes` is None if the table is not read from files.
    """

    table: str
    text: str
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sink:
    """A table that is written: its name, and a text that also names the destination."""

    table: str
    text: str


@dataclass(frozen=True, slots=True)
class JobOverview:
    """The names of what a job reads and writes.

    `tables` has the table of each split, by the name of the split in `Metrics.held_by`.
    """

    sources: Sequence[Source] = ()
    sinks: Sequence[Sink] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def input_bytes(self) -> int | None:
        """Return the size of the files that are read, None if some input is not from files."""
        sizes = [source.bytes for source in self.sources]
        return sum(size or 0 for size in sizes) or None if None not in sizes else None

    def min_time_text(self, held_by: str, min_time: int) -> str:
        """Return the min time held by a split as text, by the kind of its time; "" if it has none."""
        table = self.tables.get(held_by)
        if table is None or not TIMESTAMP_MIN <= min_time <= TIMESTAMP_MAX:
            return ""
        if table.time is TimeKind.OFFSET:
            return f"row {min_time:,}"
        return "" if table.time is TimeKind.START else format_timestamp(min_time)

    def watermark_text(self, held_by: str, min_time: int) -> str:
        """Return the watermark as text at a min time; "" if the split that holds it has no event time."""
        table = self.tables.get(held_by)
        if table is None or table.time not in {TimeKind.EVENT, TimeKind.ARRIVAL}:
            return ""
        watermark = (min_time - table.delay_us) // table.grain_us * table.grain_us
        in_range = watermark >= TIMESTAMP_MIN and min_time <= TIMESTAMP_MAX
        return format_timestamp(watermark) if in_range else ""


def describe_job(job: Job, splits: Mapping[int, Sequence[Split]]) -> JobOverview:
    """Return the overview of a job that reads these splits, by the ordinal of the table."""
    return JobOverview(
        [_source(table, splits[table.ordinal]) for table in job.tables],
        [_sink(sink) for sink in dict.fromkeys(insert.sink for insert in job.inserts)],
        {
            held_name(table.name, split.name): table
            for table in job.tables
            for split in splits[table.ordinal]
        },
    )


def _source(table: Table, splits: Sequence[Split]) -> Source:
    names = [split.name for split in splits[:_SPLITS_MAX]]
    if len(splits) > _SPLITS_MAX:
        names.append(f"{len(splits) - _SPLITS_MAX:,} more")
    return Source(table.name, held_name(table.name, ", ".join(names)), _file_bytes(table, splits))


def _sink(sink: SinkTable) -> Sink:
    _, target = target_of(sink)
    return Sink(sink.name, target if sink.name == "stdout" else f"{sink.name} ({target})")


def _file_bytes(table: Table, splits: Sequence[Split]) -> int | None:
    """Return the size of the files of a table as they are stored, None if it reads no files at rest."""
    if dict(table.options)["connector"] != "file" or is_followed(table):
        return None
    total = 0
    for split in splits:
        try:
            total += cast("FileSplit", split).path.stat().st_size
        except OSError:  # reported when it is opened
            return None
    return total
