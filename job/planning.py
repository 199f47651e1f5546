"""Plans a job: chooses a tick plan for the splits that its sources have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.row_limits import rows_at_most
from fsql.compiler.connectors import FOLLOW
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import digest
from fsql.connectors.file.output_files import Existing
from fsql.connectors.generated.pace import PacedSplit
from fsql.connectors.live.kinds import is_followed, is_live
from fsql.job.first_plan import first_plan, with_first_plan
from fsql.job.option_spans import locate_errors
from fsql.job.stages import verify_product
from fsql.optimizer.choose import choose
from fsql.runtime.drivers.local import CHUNK_ROWS, READ_AHEAD_ROWS

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.first_plan import GivenProfile
    from fsql.job.sources import Splits
    from fsql.runtime.ports import Split


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run; they do not affect the rows that it releases.

    `spark` is the URL of the Spark master, if the job runs on Spark; `profile` is the profile of its input.
    `unmarked` are INSERTs that need the removed rows of updates: see `optimizer.choose`.
    """

    workers: int = 1
    policy: Policy | None = None
    model: bool = False
    spark: str | None = None
    read_ahead_rows: int = READ_AHEAD_ROWS
    chunk_rows: int = CHUNK_ROWS
    existing: Existing = Existing.REFUSE
    profile: GivenProfile | None = None
    unmarked: frozenset[int] = frozenset()


def choose_plan(compiled: Compiled, splits: Splits, options: RunOptions) -> TickPlan:
    """Return the tick plan of the job for these splits."""
    fronts = {ordinal: len(of_table) for ordinal, of_table in splits.items()}
    plan = choose(
        compiled.graph,
        workers=options.workers,
        fronts=fronts,
        policy=options.policy,
        unmarked=options.unmarked,
    )
    if options.profile is not None:
        graph = digest(compiled.job)
        plan = with_first_plan(plan, graph, first_plan(plan, graph, options.profile))
    return verify_product("tick", plan)


def insert_limits(compiled: Compiled, splits: Splits) -> tuple[int, ...]:
    """Return the number of rows after which each INSERT ends; () if the run ends with its input.

    Input that ends is read to its end, so that all engines find the same malformed rows after the last row.
    """
    found = [rows_at_most(insert.query) for insert in compiled.bound.inserts]
    known = tuple(rows for rows in found if rows is not None)
    return known if len(known) == len(found) and _may_be_endless(compiled, splits) else ()


def _may_be_endless(compiled: Compiled, splits: Splits) -> bool:
    """Return whether a table that is read is live, or generates rows without an end."""
    return any(
        is_live(table) or any(map(_has_no_end, splits[table.ordinal]))
        for table in compiled.job.tables
    )


def _has_no_end(split: Split) -> bool:
    return isinstance(split, PacedSplit) and split.rows is None


def check_ends(compiled: Compiled, splits: Splits, engine: str) -> None:
    """Check that the input ends: the model and Spark read all input before they release anything.

    Raises:
        FsqlError: E534, if a generator has no end, or a table has the option `idle`.
    """
    reader = "the model" if engine == "model" else "Spark"
    note = f"{reader} reads all input before it starts"
    without = f"remove --engine {engine}"
    for table in compiled.job.tables:
        if is_followed(table):
            message = f'table "{table.name}" follows files and has no end, and {note}'
            helps = (f"remove '{FOLLOW}'", f"or {without}")
            with locate_errors(compiled.syntax, table.name, FOLLOW):
                raise FsqlError([Diagnostic("E534", message, helps=helps)])
        if "idle" in dict(table.options):
            message = f'table "{table.name}" has option "idle", which {reader} does not support'
            with locate_errors(compiled.syntax, table.name, "idle"):
                raise FsqlError([Diagnostic("E534", message, notes=(note,), helps=(without,))])
        for split in splits[table.ordinal]:
            if _has_no_end(split):
                message = f'table "{table.name}" has no end, and {note}'
                helps = ("set the number of rows: 'count' = '1000'", f"or {without}")
                with locate_errors(compiled.syntax, table.name, "count"):
                    raise FsqlError([Diagnostic("E534", message, helps=helps)])
