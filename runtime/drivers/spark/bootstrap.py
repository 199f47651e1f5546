"""Computes the state and the output of a job below a position on Spark.

It is a run on Spark (`run.py`) that ends at the position: the driver writes the rows that are released below
it, and collects the state of the folds.  A streaming job continues from there.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fsql.compiler.records import dataclass
from fsql.runtime.batch import END, START, Root
from fsql.runtime.drivers.spark.stage_frames import (
    COUNTED,
    ORDER,
    STATE,
    SourceReport,
    all_of,
    fold_frames,
    source_frame,
    unpersist,
)
from fsql.runtime.drivers.spark.waiting import ABANDON_SECONDS, Waiting, within
from fsql.runtime.state.encoding import decode_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row

    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.drivers.spark.run import SparkRun
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

    StoreState = Callable[[Root, str, list[IncrementalSnapshot]], None]
    """Stores the state of an operator, in parts, as of a position; it is called once for each operator."""


class Computed(NamedTuple):
    """The position that a bootstrap has reached, and a report on the source of each front, by its number."""

    position: Root
    sources: Mapping[int, SourceReport]


@dataclass(frozen=True, slots=True)
class SparkBootstrap:
    """A run on Spark that ends at a position.

    Args:
        run: the run, which has not begun.
        fronts: the numbers of the fronts that are read.
        until: the position; None for the least position above all rows of these fronts.
    """

    run: SparkRun
    fronts: Sequence[int]
    until: Root | None

    def compute(
        self, store: StoreState, on_progress: Callable[[Metrics], None] = lambda _: None
    ) -> Computed | None:
        """Write the output below the position, then store the state; return None if a row stops the job.

        Raises:
            FsqlError: if a source, a sink or the store fails; E644, E661, E663, if Spark cannot be used.
        """
        run, bound = self.run, self.until or END
        with run.on_spark(on_progress) as spark:
            stages: list[DataFrame] = []

            def sources_frame() -> DataFrame:
                stages.append(source_frame(spark.session, run.load, self.fronts, bound))
                return stages[0]

            try:
                sources = spark.waiting.for_result(sources_frame)
                rows = spark.collect_reports(sources)
                run.count(rows)
                reports = _reports(rows)
                position = self.until or _position_after_all(reports)
                folds = partial(fold_frames, run.plan, run.load, sources, position)
                stages += spark.waiting.for_result(folds)
                if len(stages) > 1:
                    folded = spark.waiting.for_result(lambda: all_of(stages[1:]))
                    run.check(spark.collect_reports(folded))
                all_rows = spark.waiting.for_result(lambda: all_of(stages))
                run.write(all_rows, position, spark.waiting)
                if run.stopped is not None:
                    return None
                for operator, parts in _states(all_rows, spark.waiting):
                    store(position, operator, parts)
                    spark.waiting.meanwhile()
            finally:
                within(ABANDON_SECONDS, lambda: unpersist(stages))
        return Computed(position, reports)


def _reports(rows: Sequence[Row]) -> dict[int, SourceReport]:
    return {
        row.task: msgspec.json.decode(row.parts[0], type=SourceReport)
        for row in rows
        if row.stage == COUNTED
    }


def _position_after_all(reports: Mapping[int, SourceReport]) -> Root:
    return max((Root(*report.read_up_to) for report in reports.values()), default=START)


def _states(rows: DataFrame, waiting: Waiting) -> Iterator[tuple[str, list[IncrementalSnapshot]]]:
    """Yield the state of each operator, in parts."""

    def states() -> Iterator[Row]:
        return rows.where(f"stage = {STATE}").orderBy(*ORDER).toLocalIterator()

    fetched = waiting.for_each(states)
    for _, of_stage in groupby(fetched, lambda row: row.time):
        parts = [(bytes(row.parts[0]).decode(), decode_snapshot(row.parts[1])) for row in of_stage]
        yield parts[0][0], [state for _, state in parts]
