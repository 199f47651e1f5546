"""Functions on strings; positions and lengths count code points, from 1."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.like import like, pattern_error
from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.functions.text_operations import STRIPPED
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, BYTES, STRING, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def _from_the_end(constants: Sequence[object]) -> tuple[int, str] | None:
    """Refuse a constant position that counts from the end in some systems only."""
    start = constants[1]
    if isinstance(start, int) and start < 0:
        return 1, f"position {start} of SUBSTRING: write RIGHT(s, {-start}) to count from the end"
    return None


_OF_PATTERN: Final = re.compile(r"\\[][|.*+?(){}^$sSdDwWbt]")
"""What a separator has that is meant as a regular expression."""


def separator_error(separator: str) -> str | None:
    """Return why a text is no separator, or None: other systems read one as a regular expression."""
    if found := _OF_PATTERN.search(separator):
        return f"the separator has {found[0]}, and is no regular expression; write the text that separates"
    return None


def _separator_of_split(separator: str) -> str | None:
    return separator_error(separator) if separator else "the separator is empty"


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Return SQL's SUBSTRING: positions below 1 count towards the length."""
    first = max(start, 1) - 1
    if length is None:
        return text[first:]
    end = start - 1 + length
    return text[first : max(end, first)]


def _replace(text: str, pattern: str, replacement: str) -> str:
    return text.replace(pattern, replacement) if pattern else text


_TEXT = (STRING,)

STRINGS = (
    Function(
        "like",
        ("LIKE",),
        (Signature((STRING, STRING), BOOLEAN, like),),
        literal_check=pattern_error,
        may_vary=True,
    ),
    Function("lower", ("LOWER", "LCASE"), (Signature(_TEXT, STRING, str.lower),)),
    Function("upper", ("UPPER", "UCASE"), (Signature(_TEXT, STRING, str.upper),)),
    *(
        Function(name, names, (Signature(_TEXT, STRING, scalar), STRIPPED[name]))
        for name, names, scalar in (
            ("trim", ("TRIM", "BTRIM"), lambda text: text.strip(" ")),
            ("ltrim", ("LTRIM",), lambda text: text.lstrip(" ")),
            ("rtrim", ("RTRIM",), lambda text: text.rstrip(" ")),
        )
    ),
    Function(
        "char_length",
        ("CHAR_LENGTH", "CHARACTER_LENGTH", "LENGTH", "LEN"),
        (Signature(_TEXT, BIGINT, len), Signature((BYTES,), BIGINT, len)),
    ),
    Function(
        "substring",
        ("SUBSTRING", "SUBSTR"),
        (
            Signature((STRING, BIGINT), STRING, _substring),
            Signature((STRING, BIGINT, BIGINT), STRING, _substring),
            Signature((BYTES, BIGINT), BYTES, _substring),
            Signature((BYTES, BIGINT, BIGINT), BYTES, _substring),
        ),
        constants_check=_from_the_end,
    ),
    Function(
        "concat",
        ("CONCAT", "||"),
        (
            Signature((STRING, STRING), STRING, lambda left, right: left + right),
            Signature((BYTES, BYTES), BYTES, lambda left, right: left + right),
        ),
    ),
    Function("replace", ("REPLACE",), (Signature((STRING, STRING, STRING), STRING, _replace),)),
    Function(
        "starts_with",
        ("STARTS_WITH", "STARTSWITH"),
        (Signature((STRING, STRING), BOOLEAN, lambda text, prefix: text.startswith(prefix)),),
    ),
    Function(
        "split",
        ("SPLIT", "STRING_TO_ARRAY", "STRING_SPLIT"),
        (
            Signature(
                (STRING, STRING),
                array_of(STRING),
                lambda text, separator: tuple(text.split(separator)),
            ),
        ),
        literal_check=_separator_of_split,
        literal_word="separator",
    ),
)
