"""EXCEPT after `*`: whether it lists the columns that are left out, or is the set operation.

`SELECT * EXCEPT (a)` and `SELECT * EXCEPT (SELECT …)` look the same to an automaton with one token of
look-ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token

_QUERIES: Final = frozenset({"SELECT", "VALUES", "WITH", "TABLE"})


def mark_star_exceptions(tokens: list[Token]) -> list[Token]:
    """Return the tokens with kind EXCEPT_COLUMNS for the word EXCEPT between `*` and a list of names."""
    return [
        token._replace(kind="EXCEPT_COLUMNS")
        if token.kind == "WORD"
        and token.text.upper() == "EXCEPT"
        and _is_between(tokens[max(0, index - 1) : index + 3])
        else token
        for index, token in enumerate(tokens)
    ]


def _is_between(tokens: list[Token]) -> bool:
    """Return whether the first of these tokens is `*`, and the third opens a list of names."""
    if len(tokens) < 4:
        return False
    star, _, bracket, first = tokens
    if star.kind != "STAR" or bracket.kind != "LPAR":
        return False
    return first.kind == "QUOTED_NAME" or (
        first.kind == "WORD" and first.text.upper() not in _QUERIES
    )
