"""One running aggregate of a SELECT, and the way in which the rows of its frames are found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.over.ordered_frames import ALL_BEFORE
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import append_only
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.binder.over.ordered_frames import OrderedFrame
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import OrderKey, OverCall, Plan


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A running aggregate of a SELECT.

    `order` is the expression by which rows ascend; None for the total order, for another order, given by
    `keys`, and for the aggregate of a `whole` partition.  `frame` is the frame in any order; without `timed`
    it is none of the frames of `call`, which are computed in the order of event time.
    """

    partition: tuple[Expression, ...]
    order: Expression | None
    call: OverCall
    keys: tuple[OrderKey, ...] = ()
    whole: bool = False
    frame: OrderedFrame | None = None
    timed: bool = True

    @property
    def ordered_frame(self) -> OrderedFrame:
        """Return the frame in any order; LAG that ignores NULLs has all rows before its row."""
        return self.frame or ALL_BEFORE

    def is_ranked(self, plan: Plan) -> bool:
        """Return whether the rows of its frame are found by their ranks among the rows of `plan`."""
        of_rows = self.frame is None or self.frame.rows_between is not None
        if self.whole or not of_rows or self.call.preceding is None:
            return False
        return not self._is_in_sequence(plan)

    def is_total(self, plan: Plan) -> bool:
        """Return whether its frame is found by the positions of rows, and other rows may change it."""
        if self.whole or self.is_ranked(plan):
            return False
        return not (self.timed and self._is_in_sequence(plan))

    def _is_in_sequence(self, plan: Plan) -> bool:
        """Return whether rows come in its order: the total order, or that of event time."""
        order = self.order
        by_time = isinstance(order, ColumnRef) and plan.schema[order.index].time_attribute
        return (by_time or not self.keys) and append_only(plan)

    def rewrite(
        self, carry: Callable[[Expression], Expression], source_spans: SourceSpans
    ) -> RunningCall:
        """Return the call with its expressions rewritten."""
        aggregate, time = self.call.aggregate, self.call.time
        argument = None if aggregate.argument is None else carry(aggregate.argument)
        others = tuple(map(carry, aggregate.others))
        carried = replace(aggregate, argument=argument, others=others)
        source_spans.copy(aggregate, carried)
        return replace(
            self,
            partition=tuple(carry(key) for key in self.partition),
            order=None if self.order is None else carry(self.order),
            call=replace(self.call, aggregate=carried, time=None if time is None else carry(time)),
            keys=tuple(replace(key, expression=carry(key.expression)) for key in self.keys),
        )
