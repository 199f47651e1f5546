"""More functions on strings: searching, padding, parts, characters.

Kernels compute them once for each distinct value (`runtime/kernels/expressions/per_value.py`).
"""

from __future__ import annotations

from typing import Final

from fsql.compiler.functions.failure import OutOfRangeFailure
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING

CHARACTERS_MAX: Final = 1_000_000
"""The longest text that REPEAT, LPAD and RPAD make."""


def _check_length(length: int) -> int:
    if length > CHARACTERS_MAX:
        raise OutOfRangeFailure(STRING)
    return max(length, 0)


def _repeat(text: str, times: int) -> str:
    return text * (_check_length(len(text) * max(times, 0)) // len(text)) if text else ""


def _padding(text: str, length: int, fill: str) -> str:
    missing = _check_length(length) - len(text)
    return (fill * (missing // len(fill) + 1))[:missing] if fill and missing > 0 else ""


def _lpad(text: str, length: int, fill: str = " ") -> str:
    return (_padding(text, length, fill) + text)[: max(length, 0)]


def _rpad(text: str, length: int, fill: str = " ") -> str:
    return (text + _padding(text, length, fill))[: max(length, 0)]


def _position(part: str, text: str, start: int = 1) -> int:
    """Return where `part` begins in `text`, searched from `start` on; 0 if it does not occur."""
    return text.find(part, start - 1) + 1 if 1 <= start <= len(text) + 1 else 0


def _overlay(text: str, by: str, start: int, length: int | None = None) -> str:
    """Return `text` with `length` characters from `start` on replaced, by default as many as `by` has."""
    first = max(start - 1, 0)
    end = max(start - 1 + (len(by) if length is None else max(length, 0)), 0)
    return text[:first] + by + text[end:]


def _left(text: str, count: int) -> str:
    return text[:count] if count >= 0 else text[: max(len(text) + count, 0)]


def _right(text: str, count: int) -> str:
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def _initcap(text: str) -> str:
    made = []
    begins = True
    for character in text:
        made.append(character.upper() if begins else character.lower())
        begins = not character.isalnum()
    return "".join(made)


def _part(text: str, separator: str, number: int) -> str:
    parts = text.split(separator) if separator else [text]
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if number and 0 <= index < len(parts) else ""


def _split_index(text: str, separator: str, index: int) -> str | None:
    parts = text.split(separator) if separator else [text]
    return parts[index] if 0 <= index < len(parts) else None


def _translate(text: str, characters: str, by: str) -> str:
    table: dict[int, str | None] = {}
    for index, character in enumerate(characters):
        table.setdefault(ord(character), by[index] if index < len(by) else None)
    return text.translate(table)


def _character(code: int) -> str | None:
    surrogate = 0xD800 <= code <= 0xDFFF
    return chr(code) if 0 < code <= 0x10FFFF and not surrogate else None


def _levenshtein(left: str, right: str) -> int:
    if len(left) * len(right) > CHARACTERS_MAX:
        raise OutOfRangeFailure(BIGINT)
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            changed = before + (one != other)
            before, row[j] = row[j], min(changed, row[j] + 1, row[j - 1] + 1)
    return row[-1]


_TEXT: Final = (STRING,)
_TWO: Final = (STRING, STRING)
_COUNTED: Final = (STRING, BIGINT)

TEXTS = (
    Function(
        "position",
        ("POSITION", "LOCATE"),
        (
            Signature(_TWO, BIGINT, _position),
            Signature((STRING, STRING, BIGINT), BIGINT, _position),
        ),
    ),
    Function(
        "instr",
        ("INSTR", "STRPOS"),
        (Signature(_TWO, BIGINT, lambda text, part: text.find(part) + 1),),
    ),
    Function("left", ("LEFT",), (Signature(_COUNTED, STRING, _left),)),
    Function("right", ("RIGHT",), (Signature(_COUNTED, STRING, _right),)),
    Function(
        "lpad",
        ("LPAD",),
        (
            Signature((STRING, BIGINT, STRING), STRING, _lpad, fallible=True),
            Signature(_COUNTED, STRING, _lpad, fallible=True),
        ),
    ),
    Function(
        "rpad",
        ("RPAD",),
        (
            Signature((STRING, BIGINT, STRING), STRING, _rpad, fallible=True),
            Signature(_COUNTED, STRING, _rpad, fallible=True),
        ),
    ),
    Function(
        "overlay",
        ("OVERLAY",),
        (
            Signature((STRING, STRING, BIGINT), STRING, _overlay),
            Signature((STRING, STRING, BIGINT, BIGINT), STRING, _overlay),
        ),
    ),
    Function("repeat", ("REPEAT",), (Signature(_COUNTED, STRING, _repeat, fallible=True),)),
    Function("reverse", ("REVERSE",), (Signature(_TEXT, STRING, lambda text: text[::-1]),)),
    Function("initcap", ("INITCAP",), (Signature(_TEXT, STRING, _initcap),)),
    Function("split_part", ("SPLIT_PART",), (Signature((STRING, STRING, BIGINT), STRING, _part),)),
    Function(
        "translate", ("TRANSLATE",), (Signature((STRING, STRING, STRING), STRING, _translate),)
    ),
    Function("ends_with", ("ENDS_WITH", "ENDSWITH"), (Signature(_TWO, BOOLEAN, str.endswith),)),
    Function(
        "contains", ("CONTAINS",), (Signature(_TWO, BOOLEAN, lambda text, part: part in text),)
    ),
    Function(
        "ascii", ("ASCII",), (Signature(_TEXT, BIGINT, lambda text: ord(text[0]) if text else 0),)
    ),
    Function(
        "levenshtein", ("LEVENSHTEIN",), (Signature(_TWO, BIGINT, _levenshtein, fallible=True),)
    ),
    Function(
        "split_index",
        ("SPLIT_INDEX",),
        (Signature((STRING, STRING, BIGINT), STRING, _split_index),),
        Nullability.ALWAYS,
    ),
    Function("chr", ("CHR",), (Signature((BIGINT,), STRING, _character),), Nullability.ALWAYS),
)
