"""The profile of the input of a script at rest: tables that the optimizer reads.  Data only.

`PROFILE` is the version of these tables; `docs/optimizer.md` describes them.  Operators have the names that
they have in a run, so a profile of one script also applies to equal operators of another one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

PROFILE: Final = 1


class BinRows(NamedTuple):
    """The number of rows of one bin of one side of a fold."""

    operator: str
    side: int
    bin: int
    rows: int


class HotKey(NamedTuple):
    """A key with many rows; `rows` may be too low by up to `error`."""

    operator: str
    side: int
    hash: int
    key: str
    rows: int
    error: int


class SideRows(NamedTuple):
    """One side of a fold: its rows, and their approximate number of keys."""

    operator: str
    side: int
    rows: int
    keys: int


class OperatorRows(NamedTuple):
    """An operator, or a condition of a filter: rows in and out, and its processor time."""

    operator: str
    rows_in: int
    rows_out: int
    busy_seconds: float


class SplitRows(NamedTuple):
    """A split: its rows and bytes, and the processor time to read and process it."""

    table: str
    split: int
    rows: int
    bytes: int
    busy_seconds: float


class Profile(NamedTuple):
    """All tables, each sorted."""

    bins: tuple[BinRows, ...] = ()
    heavy: tuple[HotKey, ...] = ()
    sides: tuple[SideRows, ...] = ()
    operators: tuple[OperatorRows, ...] = ()
    splits: tuple[SplitRows, ...] = ()
