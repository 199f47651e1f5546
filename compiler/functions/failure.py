"""Failures of a row: what an expression raises instead of having a value.

A failure belongs to the row, not to the query: the row becomes an error at its position.  The message
is part of what is released, so it depends on the values only; code that computes whole
columns gets it by evaluating the failing row again with `evaluate`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from fsql.compiler.sqltypes import TIMESTAMP

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType

_EXCERPT_CHARACTERS_MAX = 40


class RowFailure(Exception):  # noqa: N818 - the field's word: a row fails
    """The base: `code` is the number of the error, 501 for FSQL-E501."""

    code: ClassVar[int]


class DivisionByZeroFailure(RowFailure):
    """E501: integer division or modulo by zero."""

    code = 501

    def __init__(self) -> None:
        super().__init__("division by zero")


class OutOfRangeFailure(RowFailure):
    """E502: a result outside of the range of its type."""

    code = 502

    def __init__(self, target: SqlType) -> None:
        super().__init__(f"{target} out of range")


class UnreadableTextFailure(RowFailure):
    """E503: text that cannot be read as a value of a type."""

    code = 503

    def __init__(self, text: str, target: SqlType | str) -> None:
        super().__init__(f"cannot read {_excerpt(text)} as {target}")


class NoJsonValueFailure(RowFailure):
    """E503: a document that has nothing at a path (ERROR ON EMPTY)."""

    code = 503

    def __init__(self, path: str) -> None:
        super().__init__(f"the JSON has no such value at {_excerpt(path)}")


class OtherJsonValueFailure(RowFailure):
    """E503: a document that has a value of another kind at a path, or several (ERROR ON ERROR)."""

    code = 503

    def __init__(self, path: str) -> None:
        super().__init__(f"the JSON has a value of another kind, or several, at {_excerpt(path)}")


class UnmappedOperationFailure(RowFailure):
    """E503: an operation of a changelog that stands for no kind of change."""

    code = 503

    def __init__(self, operation: str | None) -> None:
        given = "NULL" if operation is None else _excerpt(operation)
        super().__init__(f"operation {given} is not mapped to a kind of change")


class UnavailableFailure(RowFailure):
    """E527: a change that lacks values, and replaces no row that has them."""

    code = 527

    def __init__(self) -> None:
        super().__init__("value is not available")


class TimestampRangeFailure(RowFailure):
    """E504: a TIMESTAMP or DATE outside of the years 1 to 9999."""

    code = 504

    def __init__(self, target: SqlType = TIMESTAMP) -> None:
        super().__init__(f"{target} outside of the years 1 to 9999")


class NoMapFailure(RowFailure):
    """E510: keys and values that are not those of a MAP."""

    code = 510


def _excerpt(text: str) -> str:
    """Return `text` in quotes on one line, cut if it is long."""
    if len(text) > _EXCERPT_CHARACTERS_MAX:
        text = text[: _EXCERPT_CHARACTERS_MAX - 1] + "…"
    return json.dumps(text, ensure_ascii=False)
