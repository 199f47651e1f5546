"""Which exchanges should have the same owner map, because rows between their folds then stay on their worker.

If a fold sends rows into another fold by its own key, and both exchanges have one map, each row goes to the
worker that it is on: a call, and no message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import graph
from fsql.compiler.expression import ColumnRef
from fsql.compiler.tick_plan import HEAD, FoldHead, ToFold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.tick_plan import Stage, TickPlan


def exchanges_in_groups(plan: TickPlan) -> list[list[str]]:
    """Return the exchanges of a plan in groups that should have one map each, in the order of the stages."""
    group_of = {name: [name] for name in plan.exchanges.values()}
    for stage in plan.stages:
        for send in stage.sends:
            if isinstance(send.to, ToFold) and _keeps_key(stage, send.step, send.to.keys):
                one, other = (
                    group_of[_operator(each)] for each in (stage, plan.stages[send.to.stage])
                )
                if one is not other:
                    one += other
                    group_of.update(dict.fromkeys(other, one))
    return list({id(group): group for group in group_of.values()}.values())


def _operator(stage: Stage) -> str:
    assert isinstance(stage.head, FoldHead)
    return stage.head.operator


def _keeps_key(stage: Stage, step: int, keys: Sequence[Expression]) -> bool:
    """Return whether the keys of a send of a stage are those of its fold, in the same order."""
    if not isinstance(stage.head, FoldHead):
        return False
    of_fold = _key_columns(stage.head.combine)
    columns = [_column_of_head(stage, step, key) for key in keys]
    if not keys or len(of_fold) != len(columns):
        return False
    return all(column in known for column, known in zip(columns, of_fold, strict=True))


def _key_columns(combine: graph.Combine) -> list[set[int]]:
    """Return, for each key of a fold, the columns of its rows that have the value."""
    match combine:
        case graph.CombineAggregate() | graph.CombineChanges():
            return [{number} for number, _ in enumerate(combine.keys)]
        case graph.CombineSlices(bounds=bounds):
            return [{number} for number, bound in enumerate(bounds) if bound is None]
        case graph.CombineJoin():
            sides = zip(combine.left_keys, combine.right_keys, strict=True)
            return [_columns(left) | _columns(right, combine.left_width) for left, right in sides]
        case _:
            return []


def _columns(key: Expression, first: int = 0) -> set[int]:
    return {first + key.index} if isinstance(key, ColumnRef) else set()


def _column_of_head(stage: Stage, step: int, expression: Expression) -> int | None:
    """Return the column of the rows of the fold that an expression over the rows of a step copies."""
    while isinstance(expression, ColumnRef):
        if step == HEAD:
            return expression.index
        function = stage.steps[step].function
        if isinstance(function, graph.Compute):
            expression = function.expressions[expression.index]
        elif not isinstance(function, graph.Select | graph.Renumber):
            return None
        step = stage.steps[step].input
    return None
