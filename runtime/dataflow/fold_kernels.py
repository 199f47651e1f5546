"""The fold of each stateful operator, with its kernel.

The kernels of an operator are imported with the first fold of it: a process imports those of its plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.compiler.graph import (
    CombineAggregate,
    CombineChangelog,
    CombineChanges,
    CombineJoin,
    CombineOver,
    CombineRank,
    CombineSessions,
    CombineSlices,
)
from fsql.runtime.dataflow.fold import Fold

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import FoldHead
    from fsql.runtime.kernels.keyed.kernel import Kernel


def make_fold(head: FoldHead) -> Fold:  # noqa: C901, PLR0911 - one case for each operator
    """Return an empty fold for `head`, with the kernel of its operator."""
    combine = head.combine
    kernel: Kernel[Any]
    match combine:
        case CombineAggregate():
            from fsql.runtime.kernels.aggregate.kernel import AggregateKernel

            kernel = AggregateKernel(combine, marks_replacements=head.marks_replacements)
            return Fold(head, kernel, ties=False, append_only=combine.input_append_only)
        case CombineSlices():
            from fsql.runtime.kernels.slices.kernel import SlicesKernel

            return Fold(head, SlicesKernel(combine), ties=False, append_only=True)
        case CombineChanges(counted=True):
            from fsql.runtime.kernels.changes.kernel import EqualRowsKernel

            return Fold(head, EqualRowsKernel(combine), ties=False, append_only=True)
        case CombineChanges(unavailable=unavailable) if unavailable is not None:
            from fsql.runtime.kernels.changes.kernel import KeptValuesKernel

            kernel = KeptValuesKernel(combine, marks_replacements=head.marks_replacements)
            return Fold(head, kernel, ties=False, append_only=True)
        case CombineChanges(whole=whole) if whole is not None:
            from fsql.runtime.kernels.changes.kernel import ComparedRowsKernel

            kernel = ComparedRowsKernel(combine, marks_replacements=head.marks_replacements)
            return Fold(head, kernel, ties=False, append_only=True)
        case CombineChanges():
            from fsql.runtime.kernels.changes.kernel import ChangesKernel

            kernel = ChangesKernel(combine, marks_replacements=head.marks_replacements)
            return Fold(head, kernel, ties=False, append_only=True)
        case CombineChangelog():
            from fsql.runtime.kernels.changelog.kernel import ChangelogKernel

            [(schema, _)] = head.inputs
            return Fold(head, ChangelogKernel(combine, schema), ties=False, append_only=True)
        case CombineOver():
            from fsql.runtime.kernels.over.kernel import OverKernel

            kernel = OverKernel(combine)
            return Fold(head, kernel, ties=combine.may_tie, append_only=True)
        case CombineSessions():
            from fsql.runtime.kernels.sessions.kernel import SessionsKernel

            [(schema, depth)] = head.inputs
            return Fold(head, SessionsKernel(combine, schema, depth), ties=False, append_only=True)
        case CombineRank():
            from fsql.runtime.kernels.ranking.kernel import RankKernel
            from fsql.runtime.kernels.ranking.top import TopKernel, shows_first_rows

            schema, depth = head.inputs[0]
            make_rank = TopKernel if shows_first_rows(combine) else RankKernel
            kernel = make_rank(combine, schema, depth)
            return Fold(head, kernel, ties=combine.may_tie, append_only=combine.by_position)
        case CombineJoin():
            from fsql.runtime.kernels.join.append_only import JoinKernel
            from fsql.runtime.kernels.join.once import JoinOnceKernel
            from fsql.runtime.kernels.join.updates import JoinUpdatesKernel

            make_updates = JoinOnceKernel if combine.once else JoinUpdatesKernel
            make = JoinKernel if combine.input_append_only else make_updates
            kernel = make(combine, [schema for schema, _ in head.inputs])
            return Fold(head, kernel, ties=False, append_only=combine.input_append_only)
        case _:
            raise AssertionError(combine)


def import_kernels() -> None:
    """Import the kernels of all operators, as a process does whose forks shall have them."""
    import fsql.runtime.kernels.aggregate.kernel
    import fsql.runtime.kernels.changelog.kernel
    import fsql.runtime.kernels.changes.kernel
    import fsql.runtime.kernels.join.append_only
    import fsql.runtime.kernels.join.once
    import fsql.runtime.kernels.join.updates
    import fsql.runtime.kernels.over.kernel
    import fsql.runtime.kernels.ranking.kernel
    import fsql.runtime.kernels.ranking.top
    import fsql.runtime.kernels.sessions.kernel
    import fsql.runtime.kernels.slices.kernel  # noqa: F401
