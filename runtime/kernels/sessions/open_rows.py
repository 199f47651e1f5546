"""The rows of open sessions: what is common to all ways of keeping them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from fsql.runtime.batch import PUNCTUATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.graph import SessionClosing
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root


class SessionRows(NamedTuple):
    """Rows by number, with their slots, roots, times, and the ends of their own sessions."""

    slot: Ints
    number: Ints
    time: Ints
    origin: Ints
    start: Ints
    end: Ints

    def take(self, rows: Ints | Bools) -> SessionRows:
        """Return some of the rows."""
        return SessionRows(*(column[rows] for column in self))


class ClosedRows(NamedTuple):
    """Rows of closed sessions: their close times, slots, bounds of the sessions, and numbers of the rows."""

    close: Ints
    slot: Ints
    start: Ints
    end: Ints
    number: Ints


class OpenRows(Protocol):
    """The rows of the open sessions of all slots."""

    def insert(
        self, rows: SessionRows, in_total_order: Callable[[SessionRows], SessionRows]
    ) -> SessionRows:
        """Add rows, except those that are late, which are returned.

        All are below a min time that the rows added before were not; `in_total_order` sorts some of them.
        """

    def add(self, rows: SessionRows) -> None:
        """Add rows of which none is earlier than the watermark."""

    def least(self) -> Root | None:
        """Return a punctuation below which no session closes, if there are sessions."""

    def pop_below(self, bound: Root) -> ClosedRows | None:
        """Remove and return the rows of the sessions that close below `bound`."""

    def drop(self, slots: Ints) -> int:
        """Drop the sessions of some slots; return their number of rows."""

    def numbers_of(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the rows of slots, slot by slot, and the number of rows of each slot."""

    def numbers(self) -> list[Ints]:
        """Return the numbers of all rows, in parts."""

    def renumber(self, new: Callable[[Ints], Ints]) -> None:
        """Replace the numbers of all rows."""


def close_times(ends: Ints, closing: SessionClosing) -> Ints:
    """Return the close times of sessions with these ends."""
    return (ends // closing.grain_us + 1) * closing.grain_us + closing.delay_us


def rows_behind_watermark(rows: SessionRows, closing: SessionClosing) -> Bools:
    """Return which rows are earlier than the watermark at their position."""
    close = close_times(rows.start, closing)
    is_tardy: Bools = rows.time > close
    is_tardy |= (rows.time == close) & (rows.origin > PUNCTUATION)
    return is_tardy
