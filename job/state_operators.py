"""The stateful operators of a job, by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.logical import (
    Aggregate,
    ApplyChanges,
    AssignSessions,
    Join,
    Over,
    Rank,
    ToChangelog,
    WindowAggregate,
)
from fsql.compiler.serialize import operator_ids

if TYPE_CHECKING:
    from fsql.compiler.logical import Job, Plan

_STATEFUL: Final = (
    *(Aggregate, ApplyChanges, AssignSessions, Join, Over, Rank, ToChangelog, WindowAggregate),
)


def state_operators(job: Job) -> dict[str, Plan]:
    """Return the stateful operators by id, in the order of execution."""
    return {name: plan for plan, name in operator_ids(job).items() if isinstance(plan, _STATEFUL)}
