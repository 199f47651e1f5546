"""`address->*`, the fields of a ROW: the arrows before such a star are dots, as in `address.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token

_NAMES: Final = frozenset({"WORD", "QUOTED_NAME"})


def mark_record_stars(tokens: list[Token]) -> list[Token]:
    """Return the tokens with kind DOT for the arrows of `a->*` and `a->b->*`."""
    marked = list(tokens)
    for index, token in enumerate(tokens):
        if token.kind != "STAR":
            continue
        arrow = index - 1
        while arrow > 0 and tokens[arrow].kind == "THIN_ARROW" and tokens[arrow - 1].kind in _NAMES:
            marked[arrow] = tokens[arrow]._replace(kind="DOT")
            arrow -= 2
    return marked
