"""Metrics: what is counted while a job runs.

A worker counts the metrics of an epoch, and so does the coordinator, which merges its own with those of its
workers.  Those of a run are merged from its epochs.  All have the type `Metrics`.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from operator import add
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fsql.compiler.records import dataclass
from fsql.runtime.batch import START, origin_parts
from fsql.runtime.dataflow.event_times import FarAhead, InSeconds, MostBehind
from fsql.runtime.dataflow.state_size import state_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fsql.compiler.logical import Table
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.holder import Held
    from fsql.runtime.ports import DeadLetter


@dataclass(slots=True)
class OperatorMetrics:
    """Seconds that an operator has taken, and rows that it was given; 0 if it does not process batches."""

    seconds: float = 0.0
    rows: int = 0


@dataclass(slots=True)
class MeasuredOperator(OperatorMetrics):
    """Measurements of an operator that are not sent to the coordinator, in addition to its metrics.

    `busy` is the processor time in seconds, which does not include that of other programs.
    """

    calls: int = 0
    rows_out: int = 0
    busy: float = 0.0


@dataclass(slots=True)
class SourceMetrics:
    """What has been read from a table.

    `bytes_passed` counts bytes of its files as they are stored, for example compressed.
    `bytes_unread` were received, and are in no row when the run ends before its input.
    `in_seconds` is the first row whose event time seems to be seconds, `far_ahead` the first row that is
    dated far ahead of rows after it, `most_behind` the row that is the most behind one before it.
    """

    rows: int = 0
    bytes: int = 0
    rows_rejected: int = 0
    bytes_passed: int = 0
    bytes_unread: int = 0
    in_seconds: InSeconds | None = None
    far_ahead: FarAhead | None = None
    most_behind: MostBehind | None = None


@dataclass(slots=True)
class SinkMetrics:
    """What has been written to a table."""

    rows: int = 0


@dataclass(slots=True)
class Metrics:
    """Counts since the beginning, and current sizes and ages.

    `rows_…` count rows, `bytes_…` bytes, `seconds…` are seconds; `unknown_fields`, `nulled_fields`,
    `messages`, `acknowledgements`, `releases`, `snapshots` and `recoveries` are counts.

    `bytes_unread` were received from sources that cannot be read again, and are in no row when a run ends
    before its input: most often a part of a line.
    `rows_state` and `bytes_state` are the current size of the state; the bytes are estimated.
    `seconds_behind` is the age of the oldest chunk that is not released completely, `rows_unreleased` the
    approximate number of rows that were read and not released.  `rows_late_by_window` counts late rows by the
    number of the window operator.

    `held_by` names the table and the split that hold output back, "" if all input has ended;
    `held_seconds` is the age of their promise; `min_time` is the time of their promise, None if there is
    none yet.  These three are known of a whole run only.
    """

    rows_in: int = 0
    bytes_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    rows_rejected: int = 0
    unknown_fields: int = 0
    nulled_fields: int = 0
    rows_redone: int = 0
    rows_held: int = 0
    rows_state: int = 0
    bytes_state: int = 0
    messages: int = 0
    acknowledgements: int = 0
    releases: int = 0
    snapshots: int = 0
    recoveries: int = 0
    seconds: float = 0.0
    seconds_behind: float = 0.0
    rows_unreleased: int = 0
    bytes_unread: int = 0
    held_by: str = ""
    held_seconds: float = 0.0
    min_time: int | None = None
    operators: dict[str, OperatorMetrics] = field(default_factory=dict)
    sources: dict[str, SourceMetrics] = field(default_factory=dict)
    sinks: dict[str, SinkMetrics] = field(default_factory=dict)
    rows_late_by_window: dict[int, int] = field(default_factory=dict)

    def set_held(self, held: Held | None, names: Sequence[str]) -> None:
        """Set `held_by` and what belongs to it; `names` are those of the fronts, by number."""
        self.held_by, self.held_seconds, self.min_time = "", 0.0, None
        if held is not None:
            self.held_by, self.held_seconds = names[held.front], held.seconds
            self.min_time = None if held.promised == START else held.promised.time

    def set_fronts(self, fronts: Iterable[Front], released: Root) -> None:
        """Set the metrics of sources from their fronts; everything below `released` is released."""
        self.rows_in = self.bytes_in = self.rows_unreleased = 0
        self.unknown_fields = self.nulled_fields = 0
        for source in self.sources.values():
            source.rows = source.bytes = source.bytes_passed = 0
        for front in fronts:
            self.rows_in += front.rows_read
            self.bytes_in += front.bytes_read
            self.unknown_fields += front.unknown_fields
            self.nulled_fields += front.nulled_fields
            self.rows_unreleased += front.rows_above(released)
            source = self.source(front.table.name)
            source.rows += front.rows_read
            source.bytes += front.bytes_read
            source.bytes_passed += front.bytes_passed
            seen = front.event_times
            source.in_seconds = _least(source.in_seconds, seen.in_seconds)
            source.far_ahead = _least(source.far_ahead, seen.far_ahead)
            source.most_behind = _most(source.most_behind, seen.most_behind)

    def set_folds(self, folds: Collection[Fold]) -> None:
        """Set the metrics of folds, and the size of their state."""
        self.rows_redone = sum(fold.rows_redone for fold in folds)
        self.rows_held = sum(fold.rows_held for fold in folds)
        self.rows_state = sum(fold.state_rows() for fold in folds)
        self.bytes_state = sum(map(state_bytes, folds))

    def set_operators(self, operators: Mapping[str, OperatorMetrics]) -> None:
        """Set the metrics of operators to copies of their current values."""
        self.operators = {
            name: OperatorMetrics(each.seconds, each.rows) for name, each in operators.items()
        }

    def source(self, table: str) -> SourceMetrics:
        """Return the metrics of a table that is read."""
        return self.sources.setdefault(table, SourceMetrics())

    def count_unread(self, table: str, count: int) -> None:
        """Count bytes of a table that were received, and are in no row."""
        self.bytes_unread += count
        self.source(table).bytes_unread += count

    def sink(self, table: str) -> SinkMetrics:
        """Return the metrics of a table that is written."""
        return self.sinks.setdefault(table, SinkMetrics())

    def count_late(self, window: int, rows: int) -> None:
        """Count the late rows of a window operator."""
        self.rows_late += rows
        self.rows_late_by_window[window] = self.rows_late_by_window.get(window, 0) + rows

    def count_dead_letters(
        self, dead_letters: Sequence[tuple[Root, DeadLetter]], tables: Mapping[int, Table]
    ) -> None:
        """Count malformed rows; `tables` are those that are read, by ordinal."""
        self.rows_rejected += len(dead_letters)
        for root, _ in dead_letters:
            self.source(tables[origin_parts(root.origin)[0]].name).rows_rejected += 1


_GREATEST: Final = ("seconds", "seconds_behind")
_OF_RUN: Final = ("held_by", "held_seconds", "min_time")
_LEAST: Final = {"in_seconds", "far_ahead"}
_BY_NAME: Final = ("operators", "sources", "sinks")
_SUMS: Final = tuple(
    each.name
    for each in fields(Metrics)
    if each.name not in {*_GREATEST, *_OF_RUN, *_BY_NAME, "rows_late_by_window"}
)

_Part = TypeVar("_Part", OperatorMetrics, SourceMetrics, SinkMetrics)
_Value = TypeVar("_Value", InSeconds, FarAhead)


def merge(parts: Iterable[Metrics]) -> Metrics:
    """Return the merged metrics of all `parts`: sums of counts, and the maximum of times.

    `held_by` and what belongs to it are left out.
    """
    total = Metrics()
    for part in parts:
        for name in _SUMS:
            setattr(total, name, getattr(total, name) + getattr(part, name))
        for name in _GREATEST:
            setattr(total, name, max(getattr(total, name), getattr(part, name)))
        for name in _BY_NAME:
            _merge_by_name(getattr(total, name), getattr(part, name))
        for window, rows in part.rows_late_by_window.items():
            total.rows_late_by_window[window] = total.rows_late_by_window.get(window, 0) + rows
    return total


def without_current(metrics: Metrics) -> Metrics:
    """Return the counts of an epoch that has ended, without current sizes and ages."""
    sources = {name: replace(each, bytes_passed=0) for name, each in metrics.sources.items()}
    return replace(
        metrics, rows_state=0, bytes_state=0, rows_unreleased=0, seconds_behind=0.0, sources=sources
    )


def _merge_by_name(total: dict[str, _Part], added: dict[str, _Part]) -> None:
    for name, part in added.items():
        total[name] = _sum(total[name], part) if name in total else replace(part)


def _sum(one: _Part, other: _Part) -> _Part:
    values: dict[str, Any] = {}
    for name in (each.name for each in fields(one)):
        mine, theirs = getattr(one, name), getattr(other, name)
        if name in _LEAST:
            values[name] = _least(mine, theirs)
        else:
            values[name] = (_most if name == "most_behind" else add)(mine, theirs)
    return type(one)(**values)


def _least(one: _Value | None, other: _Value | None) -> _Value | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _most(one: MostBehind | None, other: MostBehind | None) -> MostBehind | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=lambda each: (each.behind_us, -each.split, -each.row))


def slowest(operators: Mapping[str, OperatorMetrics]) -> list[tuple[str, OperatorMetrics]]:
    """Return operators with their metrics, sorted by time, the slowest first."""
    return sorted(operators.items(), key=lambda each: -each[1].seconds)
