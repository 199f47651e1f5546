"""The operators of a job that keep state, under the ids by which state and plans name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.logical import Aggregate, Join, Over, WindowAggregate
from fsql.compiler.serialize import operator_ids

if TYPE_CHECKING:
    from fsql.compiler.logical import Job, Plan

_STATEFUL: Final = (Aggregate, WindowAggregate, Over, Join)


def state_operators(job: Job) -> dict[str, Plan]:
    """Return the operators that keep state, by id, in the order in which they are executed."""
    return {name: plan for plan, name in operator_ids(job).items() if isinstance(plan, _STATEFUL)}
