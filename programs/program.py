"""A program: a state, and the events that change it, of which some depend on each other.

    events ─▶ update(state, tag, row) ─▶ the next state, and rows

Events that do not depend on each other may be processed by states that `fork` made of one, at the same
time, until `join` makes one of them again.  The meaning of a program is that of `update` alone, applied to
all events in the total order; `fork`, `join` and `depends` only allow to compute it in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Tag = object
    """The value of a tag in Python: a dict by fields for a ROW."""
    State = object
    Tags = Callable[[Tag], bool]
    """A set of tags, by what it contains."""
    Outputs = Iterable[object]
    """Rows: each is a tuple, a dict by columns, or the value of the only column."""


@dataclass(frozen=True, slots=True)
class StateType:
    """A type of states: its name, its SQL type as text, and the tags of the events that it can process."""

    name: str
    type: str
    accepts: Tags


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork and the join that undoes it: the indexes of the state types of the whole and of its halves."""

    whole: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Program:
    """A program.  State types are meant by their indexes in `states`; the first accepts every tag.

    `tag` is the SQL type of tags, `key` the fields of the tag by which events are independent: two events
    that differ there do not depend on each other.  `columns` are names with types: `"k BIGINT"`.
    `update_batch` processes consecutive events of one tag that does not depend on itself, as columns of
    Arrow; it is None if the class does not have it.
    The functions may raise anything: they are the user's.
    """

    name: str
    states: tuple[StateType, ...]
    forks: tuple[Fork, ...]
    tag: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    init: Callable[[], State]
    update: Callable[[int, State, Tag, dict[str, object]], tuple[State, Outputs]]
    depends: Callable[[Tag, Tag], bool]
    fork: Callable[[Fork, State, Tags, Tags], tuple[State, State]]
    join: Callable[[Fork, State, State], State]
    update_batch: Callable[[int, State, Tag, object], tuple[State, Sequence[Outputs]]] | None = None

    @property
    def divides(self) -> bool:
        """Return whether states can be forked; otherwise only `key` makes events parallel."""
        return bool(self.forks)

    def key_of(self, tag: Tag) -> tuple[object, ...]:
        """Return the values of the fields of `key`."""
        assert isinstance(tag, dict) or not self.key
        return tuple(tag[field] for field in self.key) if isinstance(tag, dict) else ()
