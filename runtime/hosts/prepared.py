"""A job prepared from its description, which each of its processes does for itself.

What is sent between processes is the description, never plans or code: equal descriptions are prepared
to equal plans, by the same compiler.  Who calls the compiler is not this package's affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fsql.compiler.tick_plan import SourceHead

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.ports import Split
    from fsql.runtime.state.directory import StateDirectory


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a worker needs to know of a job besides its number."""

    plan: TickPlan
    fronts: tuple[FrontTask, ...]
    splits: Mapping[int, Sequence[Split]]
    settings: Settings
    state: StateDirectory

    def split(self, task: FrontTask) -> Split:
        """Return the split that a front reads."""
        return self.splits[task.ordinal][task.split]

    def table_name(self, task: FrontTask) -> str:
        """Return the name of the table that a front reads."""
        heads = [stage.head for stage in self.plan.stages if isinstance(stage.head, SourceHead)]
        return next(head.table.name for head in heads if head.table.ordinal == task.ordinal)


class Prepare(Protocol):
    """Makes a job ready."""

    def __call__(self, description: bytes) -> Prepared:
        """Return what the description says.

        Raises:
            FsqlError: what is wrong with it, or with a source that it names.
        """
