"""Changes of a source: the row of a key after each change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.evaluate import evaluate
from fsql.runtime.model.item import Row, State
from fsql.runtime.model.value_order import as_key

if TYPE_CHECKING:
    from fsql.compiler.graph import CombineChanges
    from fsql.runtime.batch import Root


def combine_changes(
    function: CombineChanges, before: tuple[Row, ...] | None, change: Row, _root: Root
) -> State:
    """Return the state after `change`: the row of the key, if there is one.

    The previous row is retracted even if the new one is the same; their weights cancel in the barrier.
    """
    after: tuple[Row, ...] = ()
    if evaluate(function.present, change.values) is True:
        key = tuple(as_key(evaluate(each, change.values)) for each in function.keys)
        values = tuple(evaluate(each, change.values) for each in function.values)
        after = (Row(key + values, (function.scan_number,)),)
    removed = tuple(row.retraction() for row in before or ())
    return State(change, (*removed, *after), after)
