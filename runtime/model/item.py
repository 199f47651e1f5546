"""Items: the data on the edges of the graph.

An item is a payload with its meta.  The model moves any payload; those of a query are the records here.  The
row of a query has its weight and path in the payload: a row of weight -1 is the SQL retraction of an equal
row and has its own position, while a tombstone undoes an item that is not valid. So a retraction can have a
tombstone.

Paths are needed in addition to the lineage in `child_ids`. Both have the same order for rows that share all
operators, but not in general: the row of an aggregate has the path of its least scan and not that of the row
that caused it; rows that one punctuation releases tie, and are ordered by their own columns; and `child_ids`
count every vertex, so they depend on the plan's shape, whereas paths are defined on the bound plan.  The
released order is (root, path, own columns); `child_ids` are only used for identity and for the place of a
state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable

    from fsql.compiler.expression import Value
    from fsql.runtime.model.meta import Meta

Values = tuple["Value", ...]


class Item(NamedTuple):
    """A payload and its meta."""

    meta: Meta
    payload: object


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a query; `side` is the side of the join that it will enter."""

    values: Values
    path: tuple[int, ...] = ()
    weight: int = 1
    side: int = 0

    def retraction(self) -> Row:
        """Return the retraction of this row."""
        return replace(self, weight=-self.weight)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error row: `code` 502 is FSQL-E502; the weight is that of the failed row."""

    code: int
    message: str
    weight: int = 1

    def retraction(self) -> Failure:
        """Return the retraction of this failure."""
        return replace(self, weight=-self.weight)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The item that closes the bucket of `key`; it follows all rows of its root."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class State:
    """The state of a bucket after the item that made it (FlameStream (2018), 2.7: the accumulator item).

    It enters the bucket of that item, directly after it.  `caused` are the rows caused by the item, which
    Finish emits; `content` is defined by the combine function.
    """

    made_by: Row | Punctuation
    caused: tuple[Row | Failure, ...]
    content: object
