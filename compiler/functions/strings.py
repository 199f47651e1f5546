"""Functions on strings; positions and lengths count code points, from 1."""

from __future__ import annotations

import re
from functools import lru_cache

from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, array_of


@lru_cache(maxsize=256)
def like_regex(pattern: str) -> re.Pattern[str]:
    r"""Return the regular expression that matches what `LIKE pattern` matches.

    `%` stands for any text, `_` for one character, and `\` takes the next character as it is.
    """
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            literal = next(characters, "\\") if character == "\\" else character
            parts.append(re.escape(literal))
    return re.compile("".join(parts), re.DOTALL)


def _like(text: str, pattern: str) -> bool:
    return like_regex(pattern).fullmatch(text) is not None


def _dangling_escape(pattern: str) -> str | None:
    """Return what is wrong with a LIKE pattern, if anything."""
    escapes = len(pattern) - len(pattern.rstrip("\\"))
    return "the pattern ends with an escape character that escapes nothing" if escapes % 2 else None


def _empty_separator(separator: str) -> str | None:
    return None if separator else "the separator is empty"


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
        (Signature((STRING, STRING), BOOLEAN, _like),),
        literal_check=_dangling_escape,
    ),
    Function("lower", ("LOWER", "LCASE"), (Signature(_TEXT, STRING, str.lower),)),
    Function("upper", ("UPPER", "UCASE"), (Signature(_TEXT, STRING, str.upper),)),
    Function("trim", ("TRIM", "BTRIM"), (Signature(_TEXT, STRING, lambda text: text.strip(" ")),)),
    Function("ltrim", ("LTRIM",), (Signature(_TEXT, STRING, lambda text: text.lstrip(" ")),)),
    Function("rtrim", ("RTRIM",), (Signature(_TEXT, STRING, lambda text: text.rstrip(" ")),)),
    Function(
        "char_length",
        ("CHAR_LENGTH", "CHARACTER_LENGTH", "LENGTH"),
        (Signature(_TEXT, BIGINT, len),),
    ),
    Function(
        "substring",
        ("SUBSTRING", "SUBSTR"),
        (
            Signature((STRING, BIGINT), STRING, _substring),
            Signature((STRING, BIGINT, BIGINT), STRING, _substring),
        ),
    ),
    Function(
        "concat",
        ("CONCAT", "||"),
        (Signature((STRING, STRING), STRING, lambda left, right: left + right),),
    ),
    Function("replace", ("REPLACE",), (Signature((STRING, STRING, STRING), STRING, _replace),)),
    Function(
        "starts_with",
        ("STARTS_WITH", "STARTSWITH"),
        (Signature((STRING, STRING), BOOLEAN, lambda text, prefix: text.startswith(prefix)),),
    ),
    Function(
        "split",
        ("SPLIT", "STRING_TO_ARRAY"),
        (
            Signature(
                (STRING, STRING),
                array_of(STRING),
                lambda text, separator: tuple(text.split(separator)),
            ),
        ),
        literal_check=_empty_separator,
    ),
)
