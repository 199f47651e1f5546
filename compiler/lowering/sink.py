"""`Insert`: the barrier's port for the rows of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Sink
from fsql.compiler.logical import append_only, may_tie

if TYPE_CHECKING:
    from fsql.compiler.logical import Insert
    from fsql.compiler.lowering.draft import Draft


def lower_insert(draft: Draft, insert: Insert, number: int, rows: int) -> int:
    """Append the Sink of INSERT `number` after vertex `rows` and return it."""
    sink = Sink(number, insert.sink, append_only(insert.query), may_tie(insert.query))
    return draft.add_after(sink, rows, f"Insert {insert.sink.name}")
