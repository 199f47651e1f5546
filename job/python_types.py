"""Types of Python that stand for SQL types, in tables of sessions and in annotations of functions."""

from __future__ import annotations

import types
import typing
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SQL_TYPES: Final[Mapping[type, str]] = {
    str: "STRING",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    bytes: "BYTES",
    datetime: "TIMESTAMP",
    date: "DATE",
    time: "TIME",
}


def sql_text(annotation: object) -> str | None:
    """Return the SQL type of a Python type as text; None if it has none.

    >>> sql_text(int), sql_text(list[str]), sql_text(dict[str, float]), sql_text(complex)
    ('BIGINT', 'ARRAY<STRING>', 'MAP<STRING, DOUBLE>', None)
    >>> sql_text(dict[str])  # the type of the values is missing
    """
    origin = typing.get_origin(annotation)
    if origin in {list, dict}:
        name, count = ("ARRAY", 1) if origin is list else ("MAP", 2)
        parts = [sql_text(each) for each in typing.get_args(annotation)]
        if None in parts or len(parts) != count:
            return None
        return f"{name}<{', '.join(filter(None, parts))}>"
    # A value that is not a type may not have a hash.
    return SQL_TYPES.get(annotation) if isinstance(annotation, type) else None


def without_none(annotation: object) -> tuple[object, bool]:
    """Return a type without None, and whether it allowed None: `str | None` is `str`."""
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        parts = typing.get_args(annotation)
        others = [each for each in parts if each is not type(None)]
        if len(others) == 1 and len(others) < len(parts):
            return others[0], True
    return annotation, False
