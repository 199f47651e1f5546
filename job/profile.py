"""Profiles the input of a script at rest, in this process or on Spark, with the same result.

Tables that are not at rest are left out: standard input and sockets, followed files, and endless generators.
Instead of any table of the script, one that Spark knows can be profiled (`job.table_profile`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.generated.pace import PacedSplit
from fsql.connectors.live.kinds import is_followed, is_live
from fsql.job.sources import open_splits
from fsql.job.spark import spark_job
from fsql.job.table_profile import counts_of_table
from fsql.optimizer.collectors.profile_rows import (
    BIN,
    FAILED,
    KEY,
    OPERATOR,
    SIDE,
    SPLIT,
    CountedRow,
    collect_here,
    merge,
    profile_of,
)
from fsql.runtime.drivers.spark.task_errors import error_bytes, error_in
from fsql.runtime.drivers.split_profile import profile_split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler.logical import Table
    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.job.table_profile import CollectTable
    from fsql.optimizer.collectors.profile_rows import Collect
    from fsql.optimizer.profile import Profile
    from fsql.runtime.drivers.spark.stage_frames import Load
    from fsql.runtime.drivers.split_profile import SplitProfile
    from fsql.runtime.ports import Split


@dataclass(frozen=True, slots=True)
class SparkTables:
    """Tables that Spark knows instead of those of the script, by name, and the collector that reads them."""

    names: Mapping[str, str]
    collect: CollectTable


def profile_input(
    compiled: Compiled, collect: Collect = collect_here, instead: SparkTables | None = None
) -> Profile:
    """Return the profile of the input of a script, by a collector that may read splits in other processes.

    Raises:
        FsqlError: if a table cannot be read.
    """
    splits = open_splits(compiled)
    plan, load = spark_job(compiled, splits, partitions=1)
    names = {} if instead is None else instead.names
    numbers = _at_rest(compiled, plan, splits, names)
    if collect is collect_here:
        return profile_of(collect(numbers, partial(_rows_of, (plan, splits))))
    rows = collect(numbers, partial(_guarded_rows, load)) if numbers else []
    for table in compiled.job.tables:
        if instead is not None and table.name in names:
            given = plan.tables[table.ordinal], names[table.name]
            rows += counts_of_table(*given, load, _rows_of, instead.collect)
    for row in rows:
        if row.kind == FAILED:
            raise error_in(row.text.encode())
    return profile_of(merge(rows))


def tables_not_at_rest(compiled: Compiled, splits: Splits) -> list[str]:
    """Return the names of the tables that are not at rest."""
    return [
        table.name for table in compiled.job.tables if not _is_at_rest(table, splits[table.ordinal])
    ]


def _at_rest(
    compiled: Compiled, plan: TickPlan, splits: Splits, instead: Mapping[str, str]
) -> list[int]:
    """Return the numbers of the fronts of tables at rest that no table of Spark replaces."""
    names = {*tables_not_at_rest(compiled, splits), *instead}
    return [
        task.number for task in plan.fronts(splits) if plan.tables[task.ordinal].name not in names
    ]


def _is_at_rest(table: Table, splits: Sequence[Split]) -> bool:
    if is_live(table) or is_followed(table):
        return False
    return not any(isinstance(each, PacedSplit) and each.rows is None for each in splits)


def _guarded_rows(load: Load, number: int) -> Iterator[CountedRow]:
    """Yield the rows of counts of a split, in a process of Spark; an error becomes a row."""
    try:
        yield from _rows_of(load(), number)
    except FsqlError as error:
        yield CountedRow(FAILED, "", number=number, text=error_bytes(error).decode())


def _rows_of(
    job: tuple[TickPlan, Splits], number: int, split: Split | None = None
) -> Iterator[CountedRow]:
    plan, splits = job
    (task,) = [each for each in plan.fronts(splits) if each.number == number]
    found = profile_split(plan, task, split or splits[task.ordinal][task.split])
    yield from _counts(found)
    table, busy = plan.tables[task.ordinal].name, round(found.busy * 1e9)
    yield CountedRow(SPLIT, table, 0, task.split, found.rows, found.bytes, busy)


def _counts(found: SplitProfile) -> Iterator[CountedRow]:
    for side in found.sides:
        load = side.load
        operand = load.operator, load.side
        for number in side.rows.nonzero()[0].tolist():
            rows, rank = int(side.rows[number]), int(side.ranks[number])
            yield CountedRow(BIN, *operand, number, rows, greatest=rank)
        for key in load.heavy:
            yield CountedRow(KEY, *operand, key.hash, key.rows, text=key.key)
        yield CountedRow(SIDE, *operand, first=max((key.error for key in load.heavy), default=0))
    for name, each in found.operators.items():
        if each.rows:
            busy = round(each.busy * 1e9)
            yield CountedRow(OPERATOR, name, 0, 0, each.rows, each.rows_out, busy)
