"""Prepares a job over data at rest for Spark: checks it, and describes it to Spark's processes."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import digest
from fsql.compiler.text.source import SourceText
from fsql.compiler.tick_plan import Policy
from fsql.connectors.generated.pace import PacedSplit
from fsql.job.compilation import compile_job
from fsql.job.functions import modules_of
from fsql.job.option_spans import locate_errors
from fsql.job.planning import RunOptions, check_ends, choose_plan
from fsql.job.script import Script
from fsql.job.sources import open_splits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.runtime.drivers.local import Edges
    from fsql.runtime.drivers.spark.run import SparkRun, StartSpark
    from fsql.runtime.drivers.spark.stage_frames import Load
    from fsql.runtime.ports import Split

PARTITIONS: Final = 16
"""The number of partitions into which rows are shuffled by key, by default."""

_OF_ONE_PROCESS: Final = frozenset({"stdin", "socket", "memory"})
"""Connectors whose rows no other process can read."""

_OF_ONE_READING: Final = frozenset({"kafka"})
"""Connectors that may have other rows when they are read again."""


@dataclass(frozen=True, slots=True)
class SparkJob:
    """What a process of Spark needs to execute a task of a job; it is sent to each of them."""

    name: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    base_directory: str
    functions: tuple[str, ...]
    modules: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    plan_digest: str
    partitions: int
    front_logs: str | None
    splits: tuple[tuple[int, tuple[str, ...]], ...]
    """The names of the splits of each table, by ordinal, as the driver has found them."""


def spark_run(
    compiled: Compiled,
    splits: Splits,
    options: RunOptions,
    edges: Edges,
    session: StartSpark,
) -> SparkRun:
    """Return a run of a job on Spark; `session` is called when it begins.

    `check_sources` has to accept the input.
    """
    from fsql.runtime.drivers.spark.run import SparkRun

    plan, load = spark_job(compiled, splits, partitions_of(options))
    return SparkRun(plan, edges, load, session)


def spark_job(
    compiled: Compiled, splits: Splits, partitions: int, front_logs: Path | None = None
) -> tuple[TickPlan, Load]:
    """Return the tick plan of a job, and the function that Spark's processes call to get it.

    Sources that cannot be read again have logs in `front_logs`.
    """
    script = compiled.script
    job = SparkJob(
        script.source.name,
        script.source.text,
        tuple(script.parameters.items()),
        str(script.base_directory),
        tuple(map(str, script.functions)),
        tuple(modules_of(compiled.job).items()),
        tuple(script.columns.items()),
        digest(compiled.job),
        partitions,
        None if front_logs is None else str(front_logs),
        tuple((ordinal, tuple(s.name for s in each)) for ordinal, each in splits.items()),
    )
    return _plan(compiled, splits, partitions), partial(load, job)


def partitions_of(options: RunOptions) -> int:
    """Return the number of partitions for rows with keys: the number of workers that is requested."""
    return options.workers if options.workers > 1 else PARTITIONS


@lru_cache(maxsize=4)
def load(job: SparkJob) -> tuple[TickPlan, Mapping[int, Sequence[Split]]]:
    """Return the tick plan and the splits of a job, in a process of Spark.

    Raises:
        FsqlError: E531, if a split does not exist; E607, if this version of fsql compiles another plan.
    """
    source = SourceText(job.name, job.text)
    directory = Path(job.base_directory)
    compiled = compile_job(
        Script(
            source,
            dict(job.parameters),
            directory,
            plan_digest=job.plan_digest,
            functions=tuple(map(Path, job.functions)),
            modules=dict(job.modules),
            columns=dict(job.columns),
        )
    )
    logs = None if job.front_logs is None else Path(job.front_logs)
    found = open_splits(compiled, logs)
    splits = {
        ordinal: [_without_pace(each) for each in _select_splits(found[ordinal], names)]
        for ordinal, names in job.splits
    }
    return _plan(compiled, splits, job.partitions), splits


def _select_splits(splits: Sequence[Split], names: Sequence[str]) -> list[Split]:
    by_name = {split.name: split for split in splits}
    for name in names:
        if name not in by_name:
            message = f'"{name}" cannot be found by a process of Spark'
            helps = ("keep the files where all machines of the Spark cluster see them",)
            raise FsqlError([Diagnostic("E531", message, helps=helps)])
    return [by_name[name] for name in names]


def _without_pace(split: Split) -> Split:
    """Return a split whose rows are all due: a rate does not change which rows there are."""
    return split.without_pace() if isinstance(split, PacedSplit) else split


def _plan(compiled: Compiled, splits: Splits, partitions: int) -> TickPlan:
    # Messages arrive in order, so there is nothing to repair.
    return choose_plan(compiled, splits, RunOptions(workers=partitions, policy=Policy.ORDERED))


def check_sources(compiled: Compiled, splits: Splits) -> None:
    """Check that the input ends, and that other processes can read it, more than once.

    Raises:
        FsqlError: E534.
    """
    for table in compiled.job.tables:
        connector = dict(table.options)["connector"]
        if connector in _OF_ONE_PROCESS | _OF_ONE_READING:
            message = (
                f'table "{table.name}" is read by connector "{connector}", which Spark cannot read'
            )
            note = (
                "the tasks of Spark are other processes than this one"
                if connector in _OF_ONE_PROCESS
                else "a task of Spark that is repeated could read other rows"
            )
            helps = ("write the rows to files first", "or remove --engine spark")
            with locate_errors(compiled.syntax, table.name, "connector"):
                raise FsqlError([Diagnostic("E534", message, notes=(note,), helps=helps)])
    check_ends(compiled, splits, "spark")
