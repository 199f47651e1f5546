"""Items: the data on the edges of the graph.

An item is a payload with its meta.  The model moves any payload; those of a query are the records here.
A query's row has its weight and path in the payload: a row of weight -1 is the SQL retraction of an equal
row and has a position of its own, while a tombstone undoes an item that is not valid.  So a retraction can
have a tombstone.

Paths are needed although `child_ids` are a lineage already.  They agree in order for rows that share all
their operators, but not in general: an aggregate's row has the path of its least mention and not of the row
that caused it; what one punctuation releases ties, and is told apart by its own columns; and `child_ids`
count every vertex, so they change with the plan's shape, where paths are defined on the plan as bound.  The
released order is (root, path, own columns); `child_ids` keep to identity, and to the place of a state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

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
    """A row of a query; `side` is that of the join which it is about to enter."""

    values: Values
    path: tuple[int, ...] = ()
    weight: int = 1
    side: int = 0

    def retraction(self) -> Row:
        """Return the row that takes this one back."""
        return replace(self, weight=-self.weight)


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that a row became: `code` 502 is FSQL-E502; the weight is the row's."""

    code: int
    message: str
    weight: int = 1

    def retraction(self) -> Failure:
        """Return the failure that takes this one back."""
        return replace(self, weight=-self.weight)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The item that closes the bucket of `key`; it stands behind all rows of its root."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class State:
    """The state of a bucket behind the item that made it (FlameStream (2018), 2.7: the accumulator item).

    It goes into the bucket of that item, right behind it.  `caused` is what the item led to, for Finish
    to send on; `content` belongs to the combine function.
    """

    made_by: Row | Punctuation
    caused: tuple[Row | Failure, ...]
    content: object
