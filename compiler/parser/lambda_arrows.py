"""Arrows: which `->` begin the body of a lambda, and which are access to JSON.

`a -> 'key'` and `x -> x + 1` look the same to an automaton with one token of look-ahead.  In a call of a
function that takes lambdas, `->` after a comma and a name, or a comma and names in brackets, belongs to a
lambda.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.syntax import TAKE_LAMBDAS

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token


def mark_lambda_arrows(tokens: list[Token]) -> list[Token]:
    """Return the tokens, whose brackets match, with kind LAMBDA_ARROW for the arrows of lambdas."""
    marked: list[Token] = []
    opened: list[int] = []
    closed = 0  # The index at which the last closed bracket was opened.
    for index, token in enumerate(tokens):
        if token.kind in {"LPAR", "LSQB"}:
            opened.append(index)
        elif token.kind in {"RPAR", "RSQB"}:
            closed = opened.pop()
        elif token.kind == "THIN_ARROW" and opened and _takes_lambdas(tokens, opened[-1]):
            first = closed if tokens[index - 1].kind == "RPAR" else index - 1
            if tokens[first - 1].kind == "COMMA" and _are_names(tokens[first:index]):
                marked.append(token._replace(kind="LAMBDA_ARROW"))
                continue
        marked.append(token)
    return marked


def _takes_lambdas(tokens: list[Token], bracket: int) -> bool:
    name = tokens[bracket - 1] if bracket else None
    return (
        name is not None
        and tokens[bracket].kind == "LPAR"
        and name.kind in {"WORD", "QUOTED_NAME"}
        and name.text.upper() in TAKE_LAMBDAS
    )


def _are_names(tokens: list[Token]) -> bool:
    """Return whether the tokens are a name, or names in brackets."""
    inside = tokens if len(tokens) == 1 else tokens[1:-1]
    return all(
        token.kind == "COMMA" if index % 2 else token.kind in {"WORD", "QUOTED_NAME"}
        for index, token in enumerate(inside)
    )
