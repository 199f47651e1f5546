"""The changes of a root as rows: collected until the punctuation that follows the rows of the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.model.changes import labelled
from fsql.runtime.model.item import Punctuation, Row, State

if TYPE_CHECKING:
    from fsql.compiler.graph import CombineChangelog
    from fsql.runtime.batch import Root


def combine_changelog(
    function: CombineChangelog, before: tuple[Row, ...] | None, item: Row | Punctuation, _root: Root
) -> State:
    """Return the state after `item`: the rows so far; the punctuation causes the changes."""
    rows = before or ()
    if isinstance(item, Row):
        without_root = item.values[: -len(function.keys)]
        return State(item, (), (*rows, Row(without_root, item.path, item.weight)))
    changes = labelled(function.label_key, rows)
    caused = tuple(
        Row((*change.row, change.operation), (function.scan_number, index))
        for index, change in enumerate(changes)
    )
    return State(item, caused, None)
