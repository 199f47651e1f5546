"""Reads the messages of the plugin `pgoutput`, version 1 of its protocol, in which values are texts."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple, TypeAlias


class Unchanged:
    """A long value that the log does not repeat, since the change left it as it was."""


UNCHANGED: Final = Unchanged()
Value: TypeAlias = "str | Unchanged | None"
Row: TypeAlias = "list[Value]"


class Begin(NamedTuple):
    """A transaction begins whose commit is at `commit`."""

    commit: int


class Commit(NamedTuple):
    """A transaction ends; `end` is the position after it."""

    end: int


class Relation(NamedTuple):
    """The columns of a table, as they were when the changes after it were made: names and types."""

    relation: int
    schema: str
    name: str
    columns: tuple[tuple[str, int], ...]
    keys: frozenset[int]
    """The indexes of the columns that identify an old row."""


class Change(NamedTuple):
    """A change of a row: `c`, `u` or `d`; `old_is_key` says that only the identity is in `old`."""

    kind: str
    relation: int
    old: Row | None
    new: Row | None
    old_is_key: bool


class Truncate(NamedTuple):
    """Tables lost all rows."""

    relations: tuple[int, ...]


Message: TypeAlias = Begin | Commit | Relation | Change | Truncate
_LENGTH: Final = struct.Struct("!i").unpack_from
_SHORT: Final = struct.Struct("!h").unpack_from
_POSITION: Final = struct.Struct("!q").unpack_from
_KINDS: Final = {b"I": "c", b"U": "u", b"D": "d"}


def read_message(data: bytes) -> Message | None:
    """Return a message, None for one that says nothing of rows."""
    kind = data[:1]
    if kind in _KINDS:
        return _change(data, _KINDS[kind])
    match kind:
        case b"B":
            return Begin(_POSITION(data, 1)[0])
        case b"C":
            return Commit(_POSITION(data, 10)[0])
        case b"R":
            return _relation(data)
        case b"T":
            count = _LENGTH(data, 1)[0]
            return Truncate(struct.unpack_from(f"!{count}i", data, 6))
        case _:
            return None


def _relation(data: bytes) -> Relation:
    [number] = _LENGTH(data, 1)
    schema, name, place = _names(data, 5)
    [count] = _SHORT(data, place + 1)
    place += 3
    columns: list[tuple[str, int]] = []
    keys: set[int] = set()
    for index in range(count):
        if data[place] & 1:
            keys.add(index)
        end = data.index(0, place + 1)
        [type_] = struct.unpack_from("!I", data, end + 1)
        columns.append((data[place + 1 : end].decode(), type_))
        place = end + 9
    return Relation(number, schema or "pg_catalog", name, tuple(columns), frozenset(keys))


def _names(data: bytes, place: int) -> tuple[str, str, int]:
    middle = data.index(0, place)
    end = data.index(0, middle + 1)
    return data[place:middle].decode(), data[middle + 1 : end].decode(), end + 1


def _change(data: bytes, kind: str) -> Change:
    [relation] = _LENGTH(data, 1)
    old: Row | None = None
    new: Row | None = None
    place, is_key = 5, False
    while place < len(data):
        mark = data[place : place + 1]
        row, place = _row(data, place + 1)
        if mark == b"N":
            new = row
        else:
            old, is_key = row, mark == b"K"
    return Change(kind, relation, old, new, is_key)


def _row(data: bytes, place: int) -> tuple[Row, int]:
    [count] = _SHORT(data, place)
    place += 2
    row: Row = []
    for _ in range(count):
        mark = data[place]
        place += 1
        if mark == 0x74:  # t: a text
            [length] = _LENGTH(data, place)
            place += 4
            row.append(data[place : place + length].decode())
            place += length
        else:
            row.append(UNCHANGED if mark == 0x75 else None)  # u, n
    return row, place
