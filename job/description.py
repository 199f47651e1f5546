"""The description of a job for its processes: everything that its results depend on, and its options.

The description is written when a job first starts, and does not change.  It includes the splits of its
tables, because their numbers are part of root positions.  A given version of fsql compiles equal descriptions
to equal plans; state belongs to the operators of a plan, so another plan is refused.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.analysis.sharding import sharding_of
from fsql.compiler.assignment import Assignment
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import SinkTable, Table
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import digest
from fsql.compiler.statistics import TICK_SECONDS
from fsql.compiler.text.source import SourceText
from fsql.compiler.tick_plan import Policy
from fsql.connectors.generated.pace import PacedSplit
from fsql.connectors.live.kinds import is_live, needs_front_log
from fsql.connectors.live.live_splits import front_log_of
from fsql.connectors.opening import make_row_encoder
from fsql.connectors.row_options import row_options
from fsql.job.compilation import compile_job
from fsql.job.difference_files import read_difference
from fsql.job.first_plan import FirstPlan, with_first_plan
from fsql.job.option_spans import locate_errors
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script import Script
from fsql.job.sinks import shard_consumers
from fsql.job.sources import open_splits
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.job_spec import ResultDifference, Settings
from fsql.runtime.cluster.ticks.contraction import contracted_owners
from fsql.runtime.dataflow.row_encoding import row_encodings
from fsql.runtime.drivers.local import held_name
from fsql.runtime.drivers.operator_times import OperatorTimes
from fsql.runtime.drivers.statistics_files import StatisticsFiles
from fsql.runtime.hosts.prepared import Prepared, PreparedShards
from fsql.runtime.state.local_directory import LocalDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.node import Node
    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.ports import Split

JOB: Final = "job.json"
"""The file in a state directory with the description of its job."""

POSITIONS: Final = "positions"
"""The directory in a state directory with the journals of outputs."""

ENCODING_WORKERS_MIN: Final = 3
"""With at least this many workers, workers encode rows; with fewer, the coordinator is not the busiest."""
FORMAT: Final = 3
FORMAT_OF_DIFFERENCES: Final = 4
"""The format of descriptions with `differences`, which earlier versions of fsql would ignore."""


class StoredDifferences(msgspec.Struct, frozen=True):
    """What outputs get at the position of the last change of the plan, at which an epoch may begin.

    `files` has the hash of the file with the rows of each output, by its name; see `difference_files`.  With
    `rebuilt`, all state is rebuilt, and the rows are those of the old results.
    """

    position: tuple[int, int]
    files: dict[str, str]
    rebuilt: bool = False

    def begins_at(self, start: Root) -> bool:
        """Return whether an epoch that begins at `start` releases them."""
        return start == (START if self.rebuilt else Root(*self.position))


class JobDescription(msgspec.Struct, frozen=True):
    """A job; see above.

    If `append`, output files keep the content that they had before the job first started.  `plan` is the
    digest of its plan, `splits` are the names of each table's splits, by the table's ordinal.  `coordination`
    is the address of ZooKeeper, None if the state directory has a file for coordination.  `ordinals` are
    those of its current and former tables, by name, once its plan was changed; `since` has the position, as
    time and origin, from which an added output exists, by the name of the output.  `functions` are the
    folders of its functions in Python, `modules` the digests of their modules, by name.  `columns` are those
    that were inferred from its input, by table.  Workers write statistics every `tick_seconds`, never if it
    is 0.  `first` has the changes to its plan because of a profile of its input.  `hosted` says whether
    worker 0 is in the process of the coordinator since the last start, None if that is not known.  `replayed`
    has for each table with a rate, by its ordinal, how many rows of its splits had been read when the job was
    rebuilt: they were due then.
    `differences` are those of the last change of the plan, if outputs have any; `dropped_columns` are those
    that outputs had before a change, by output.
    """

    job: str
    script_name: str
    script_text: str
    script_path: str | None
    parameters: dict[str, str]
    base_directory: str
    state: str
    plan: str
    splits: dict[int, tuple[str, ...]]
    workers: int
    policy: str | None
    read_ahead_rows: int = msgspec.field(name="lead_rows")
    chunk_rows: int
    snapshot_every: float | None
    delivery: str | None
    format: int = FORMAT
    append: bool = False
    coordination: str | None = None
    ordinals: dict[str, int] = msgspec.field(default_factory=dict)
    since: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    tick_seconds: float = TICK_SECONDS
    functions: tuple[str, ...] = ()
    modules: dict[str, str] = msgspec.field(default_factory=dict)
    columns: dict[str, str] = msgspec.field(default_factory=dict)
    first: FirstPlan | None = None
    hosted: bool | None = None
    replayed: dict[int, tuple[int, ...]] = msgspec.field(default_factory=dict)
    differences: StoredDifferences | None = None
    dropped_columns: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def script(self) -> Script:
        """Return the script."""
        return Script(
            SourceText(self.script_name, self.script_text),
            self.parameters,
            Path(self.base_directory),
            None if self.script_path is None else Path(self.script_path),
            ordinals=self.ordinals,
            functions=tuple(map(Path, self.functions)),
            modules=self.modules,
            columns=self.columns,
        )

    def front_logs(self) -> Path:
        """Return the directory of the front logs."""
        return Path(self.state) / "front-log"

    def delivery_option(self) -> DeliveryOption | None:
        """Return the delivery guarantee of all outputs; None if tables declare their own."""
        return None if self.delivery is None else DeliveryOption(self.delivery)

    def options(self) -> RunOptions:
        """Return the options for planning the job."""
        policy = None if self.policy is None else Policy(self.policy)
        return RunOptions(workers=self.workers, policy=policy, read_ahead_rows=self.read_ahead_rows)


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job prepared from its description: compiled, with open sources, and planned."""

    description: JobDescription
    compiled: Compiled
    splits: Splits
    plan: TickPlan
    fronts: tuple[FrontTask, ...]

    def settings(self) -> Settings:
        """Return the settings of the protocol."""
        description = self.description
        return Settings(
            read_ahead_rows=description.read_ahead_rows,
            chunk_rows=description.chunk_rows,
            snapshot_every=description.snapshot_every,
            instrument=OperatorTimes,
            statistics_every=description.tick_seconds or None,
        )

    def front_names(self) -> list[str]:
        """Return the names of the tables and splits that fronts read, by the number of the front."""
        tables = {table.ordinal: table.name for table in self.compiled.job.tables}
        return [
            held_name(tables[task.ordinal], self.splits[task.ordinal][task.split].name)
            for task in self.fronts
        ]

    def front_logs(self) -> dict[int, Path]:
        """Return the directory of each front log, by the number of the front that reads it."""
        logged = {
            table.ordinal: front_log_of(self.description.front_logs(), table)
            for table in self.compiled.job.tables
            if needs_front_log(table)
        }
        return {task.number: logged[task.ordinal] for task in self.fronts if task.ordinal in logged}

    def differences(self) -> ResultDifference | None:
        """Return what outputs get at the position of the last change of the plan, None for nothing.

        Raises:
            FsqlError: E614, if it cannot be read.
        """
        stored = self.description.differences
        if stored is None:
            return None
        root, state = Root(*stored.position), Path(self.description.state)
        rows = {
            number: read_difference(state, stored.files[name], root, self.plan.sinks[number].depth)
            for number, name in self._differing.items()
        }
        return ResultDifference(root, rows, stored.rebuilt)

    @property
    def _differing(self) -> dict[int, str]:
        """Return the names of the outputs with differences, by the number of their INSERT."""
        return differing_outputs(self.description, self.compiled)

    def begin_contracted(self) -> TickPlan:
        """Return the plan; if a table that is read is live, worker 0 owns all hash bins at first."""
        if not any(is_live(table) for table in self.compiled.job.tables):
            return self.plan
        owners = contracted_owners(self.plan.workers)
        return replace(self.plan, assignment=Assignment(owners))

    def for_workers(self) -> Prepared:
        """Return the parts that workers need."""
        state = LocalDirectory(Path(self.description.state))
        return Prepared(
            *(self.plan, self.fronts, self.splits, self.settings(), state),
            self.encodings(),
            StatisticsFiles(state, self.description.tick_seconds, time.time),
            self._shards(),
        )

    def _shards(self) -> PreparedShards:
        description = self.description
        shards = shard_consumers(
            self.compiled,
            Path(description.state) / POSITIONS,
            option=description.delivery_option(),
            append=description.append,
            since=description.since,
        )
        shardings = map(sharding_of, self.compiled.job.inserts)
        return PreparedShards(
            {number: each for number, each in enumerate(shardings) if each is not None},
            {number: each.output for number, each in shards.items()},
            lambda number: shards[number].consumer,
            self.differences() if shards else None,
        )

    def encodings(self) -> Mapping[int, RowEncoding]:
        """Return the encodings of the INSERTs whose rows workers encode, by number.

        Rows that move to another position are encoded there.

        Raises:
            FsqlError: E534, if the format of a sink cannot store its changes.
        """
        if self.plan.workers < ENCODING_WORKERS_MIN:
            return {}
        inserts = self.compiled.job.inserts
        encodings = row_encodings(
            self.plan,
            lambda port: make_row_encoder(port.table),
            {number: sharding_of(insert) for number, insert in enumerate(inserts)},
        )
        stored = self.description.differences
        moving = self._differing if stored is not None and stored.rebuilt else ()
        return {number: each for number, each in encodings.items() if number not in moving}


def differing_outputs(description: JobDescription, compiled: Compiled) -> dict[int, str]:
    """Return the names of the outputs with differences, by the number of their INSERT."""
    stored = description.differences
    names = () if stored is None else stored.files
    inserts = enumerate(compiled.job.inserts)
    return {number: each.sink.name for number, each in inserts if each.sink.name in names}


def parse_description(data: bytes) -> JobDescription:
    """Return the description encoded in `data`.

    Raises:
        FsqlError: E623, if it is damaged or of another version.
    """
    try:
        description = msgspec.json.decode(data, type=JobDescription)
    except msgspec.MsgspecError as error:
        raise _not_understood(str(error)) from None
    if description.format not in {FORMAT, FORMAT_OF_DIFFERENCES}:
        raise _not_understood(f"its format is {description.format}, and this is {FORMAT}")
    return description


def _not_understood(reason: str) -> FsqlError:
    helps = ("use one version of fsql for all processes of a job and for its state",)
    message = f"the description of the job is invalid: {reason}"
    return FsqlError([Diagnostic("E623", message, helps=helps)])


def prepare_job(description: JobDescription) -> PreparedJob:
    """Compile, open and plan a job.

    Raises:
        FsqlError: for errors in its text or its sources; E623, if it is compiled to another plan.
    """
    result = compile_job(description.script())
    if plan_digest(result) != description.plan:
        raise _not_understood("this version of fsql compiles the script to another plan")
    splits = _frozen(result, open_splits(result, description.front_logs()), description.splits)
    splits = {
        ordinal: _replayed(each, description.replayed.get(ordinal, ()))
        for ordinal, each in splits.items()
    }
    unmarked = frozenset(differing_outputs(description, result))
    options = replace(description.options(), unmarked=unmarked)
    plan = choose_plan(result, splits, options)
    plan = with_first_plan(plan, description.plan, description.first)
    return PreparedJob(description, result, splits, plan, plan.fronts(splits))


def _replayed(splits: Sequence[Split], rows: Sequence[int]) -> Sequence[Split]:
    """Return splits of which so many rows were due before; without `rows`, none were."""
    return [
        split.replayed(rows[number]) if rows and isinstance(split, PacedSplit) else split
        for number, split in enumerate(splits)
    ]


def plan_digest(result: Compiled) -> str:
    """Return the digest of the plan of a job, without the options that do not change rows."""
    return digest(result.job, _row_value)


def _row_value(node: Node, field: str) -> object:
    """Return the value of a field of a node, without the options that do not change rows."""
    if field == "options" and isinstance(node, Table | SinkTable):
        return row_options(node)
    return getattr(node, field)


def split_names(splits: Splits) -> dict[int, tuple[str, ...]]:
    """Return the names of the splits of each table."""
    return {ordinal: tuple(split.name for split in each) for ordinal, each in splits.items()}


def _frozen(result: Compiled, splits: Splits, names: Mapping[int, tuple[str, ...]]) -> Splits:
    """Return the splits that the job had when it first started; later ones are not read.

    Raises:
        FsqlError: E531, if one is missing.
    """
    frozen: dict[int, Sequence[Split]] = {}
    for table in result.job.tables:
        found = {split.name: split for split in splits[table.ordinal]}
        for name in names[table.ordinal]:
            if name not in found:
                message = (
                    f'"{name}" of table "{table.name}", which the job had started with, is missing'
                )
                helps = ("restore it", "or start again with an empty state directory")
                with locate_errors(result.syntax, table.name, "path"):
                    raise FsqlError([Diagnostic("E531", message, helps=helps)])
        frozen[table.ordinal] = [found[name] for name in names[table.ordinal]]
    return frozen
