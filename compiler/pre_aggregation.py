"""Which folds take rows that were pre-aggregated before the exchange, and by which columns.

**Pre-aggregation** replaces rows of one key in a batch by a few rows with weights that have the same
count, and for each column that an aggregate reads the same number of values, sum, least and greatest value.
So it is legal if the result depends on these only: in the final row of a window.  An aggregate that
updates its row shows the change of each root, so rows at several roots are never merged.

It is legal if

* the aggregate is of a window, emits only its final row, and nothing of its input is ever removed;
* all aggregates are COUNT, SUM, AVG, MIN or MAX of a column, without DISTINCT and ORDER BY; sums are of
  integers, as the rows that represent others need values between the least and the greatest one;
* keys are columns whose equal values are the same, so not DOUBLE;
* the stage that sends begins at a source: no row that it sends is ever undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import AggregateFunction, ColumnRef
from fsql.compiler.graph import CombineAggregate
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import INTEGER_RANGES, Kind
from fsql.compiler.tick_plan import FoldHead, SourceHead, ToFold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.tick_plan import Send, Stage, TickPlan

_INTEGERS: Final = frozenset(INTEGER_RANGES) - {Kind.UBIGINT}
_COMPARED: Final = _INTEGERS | {Kind.BOOLEAN, Kind.TIMESTAMP, Kind.DOUBLE}
_KEYS: Final = _INTEGERS | {Kind.BOOLEAN, Kind.TIMESTAMP, Kind.DATE, Kind.STRING}
_OF_EXTREMES: Final = frozenset({AggregateFunction.MIN, AggregateFunction.MAX})
_OF_SUMS: Final = frozenset({AggregateFunction.SUM, AggregateFunction.AVG})


@dataclass(frozen=True, slots=True)
class ArgumentColumns:
    """What an aggregate reads of its input: each column is in one tuple at most.

    Rows of a group agree in `keys`.  `summed` are integers, of which all of count, sum, least and greatest
    may be read; of `compared` the count, the least and the greatest; of `counted` the count only.
    """

    keys: tuple[int, ...]
    summed: tuple[int, ...]
    compared: tuple[int, ...]
    counted: tuple[int, ...]


def read_columns(head: FoldHead) -> ArgumentColumns | None:
    """Return what a fold reads of rows that may be pre-aggregated, None if they may not be."""
    combine = head.combine
    if not isinstance(combine, CombineAggregate) or combine.closing is None:
        return None
    if not combine.final or not combine.input_append_only:
        return None
    keys = _columns(combine.keys, _KEYS)
    if keys is None or not all(map(_is_legal, combine.aggregates)):
        return None
    keys = keys | {combine.closing.window_end}
    summed = _arguments(combine.aggregates, _OF_SUMS) - keys
    compared = _arguments(combine.aggregates, _OF_EXTREMES) - keys - summed
    counted = _arguments(combine.aggregates, frozenset({AggregateFunction.COUNT}))
    return ArgumentColumns(
        tuple(sorted(keys)),
        tuple(sorted(summed)),
        tuple(sorted(compared)),
        tuple(sorted(counted - keys - summed - compared)),
    )


def may_pre_aggregate(plan: TickPlan, stage: Stage, send: Send) -> bool:
    """Return whether the rows of a send may be pre-aggregated before their exchange."""
    if not isinstance(send.to, ToFold) or not isinstance(stage.head, SourceHead):
        return False
    head = plan.stages[send.to.stage].head
    return isinstance(head, FoldHead) and read_columns(head) is not None


def pre_aggregations_of(plan: TickPlan) -> dict[str, int]:
    """Return from how many rows of a key on each fold gets them pre-aggregated, for those that may."""
    found: dict[str, int] = {}
    for stage in plan.stages:
        for send in stage.sends:
            if may_pre_aggregate(plan, stage, send):
                assert isinstance(send.to, ToFold)
                head = plan.stages[send.to.stage].head
                assert isinstance(head, FoldHead)
                found[head.operator] = send.to.pre_aggregates
    return found


def _is_legal(call: AggregateCall) -> bool:
    if call.distinct or call.others or call.directions or call.parameter is not None:
        return False
    argument, function = call.argument, call.function
    if argument is None:
        return function is AggregateFunction.COUNT
    if not isinstance(argument, ColumnRef):
        return False
    if function in _OF_SUMS:
        return argument.type.kind in _INTEGERS
    if function in _OF_EXTREMES:
        return argument.type.kind in _COMPARED
    return function is AggregateFunction.COUNT


def _columns(expressions: Iterable[Expression], kinds: frozenset[Kind]) -> set[int] | None:
    """Return the columns that expressions are; None if one is anything else, or of another kind."""
    found = set()
    for each in expressions:
        if not isinstance(each, ColumnRef) or each.type.kind not in kinds:
            return None
        found.add(each.index)
    return found


def _arguments(calls: Iterable[AggregateCall], functions: frozenset[AggregateFunction]) -> set[int]:
    return {
        call.argument.index
        for call in calls
        if call.function in functions and isinstance(call.argument, ColumnRef)
    }
