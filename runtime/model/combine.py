"""Combine and finish: the two maps of a drifting-state cycle (FlameStream (2018), 2.7).

| window           | combine makes                                                             |
|------------------|---------------------------------------------------------------------------|
| (item)           | the first state of the bucket                                             |
| (state, item)    | the next state                                                            |
| (item, state)    | nothing: the state follows the item that made it                          |
| any other        | nothing: it was sent before a state arrived, and will be undone           |

An item that fails also makes a state, which only differs from the previous one in the failure, so that the
chain of states is not interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler import graph as g
from fsql.compiler.functions.failure import RowFailure
from fsql.runtime.model.combine_aggregate import combine_aggregate
from fsql.runtime.model.combine_changelog import combine_changelog
from fsql.runtime.model.combine_changes import combine_changes
from fsql.runtime.model.combine_join import combine_join
from fsql.runtime.model.combine_over import combine_over
from fsql.runtime.model.combine_rank import combine_rank
from fsql.runtime.model.combine_sessions import combine_sessions
from fsql.runtime.model.combine_slices import combine_slices
from fsql.runtime.model.item import Failure, Punctuation, Row, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.runtime.batch import Root


def combine(function: g.Combine, window: tuple[object, ...], root: Root) -> list[State]:
    """Return the state after the last item of `window`, which has root position `root`."""
    match window:
        case (Row() | Punctuation() as item,):
            content = None
        case (State(content=content), Row() | Punctuation() as item):
            pass
        case _:
            return []
    try:
        state = COMBINE_FUNCTIONS[type(function)](function, content, item, root)
    except RowFailure as failure:
        assert isinstance(item, Row)
        caused = Failure(failure.code, str(failure), item.weight)
        state = State(item, (caused,), content)
    return [] if state is None else [state]


def finish(state: object) -> tuple[Row | Failure, ...]:
    """Return the rows that are caused by the item that made `state`."""
    assert isinstance(state, State)
    return state.caused


COMBINE_FUNCTIONS: Final[
    Mapping[type[g.Combine], Callable[[Any, Any, Any, Root], State | None]]
] = {
    g.CombineAggregate: combine_aggregate,
    g.CombineSlices: combine_slices,
    g.CombineChanges: combine_changes,
    g.CombineChangelog: combine_changelog,
    g.CombineOver: combine_over,
    g.CombineSessions: combine_sessions,
    g.CombineRank: combine_rank,
    g.CombineJoin: combine_join,
}
"""(function, content of the previous state or None, item, its root) → the state after the item."""
