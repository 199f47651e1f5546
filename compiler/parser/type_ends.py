"""The ends of types: `>>` ends two types in `ARRAY<ARRAY<INT>>`, and shifts bits in `a >> 2`.

The grammar cannot tell them apart, because the sign is one token before it is known what it belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.parser.keywords import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.parser.lexer import Token

_GENERIC: Final = frozenset({"ARRAY", "MAP", "ROW", "STRUCT", "MULTISET"})
_IN_TYPES: Final = frozenset({"NOT", "NULL", "WITH"})
_OUTSIDE: Final = (RESERVED - _IN_TYPES) | {";"}
"""What is in no type: after it no type is open, also where a column has the name of one, `map < 1 AND …`."""


def split_type_ends(tokens: Iterable[Token]) -> list[Token]:
    """Return the tokens with each `>>` that ends two types split into two `>`."""
    found: list[Token] = []
    opened = 0
    before = ""
    for token in tokens:
        word = token.text.upper() if token.kind in {"WORD", "SEMICOLON"} else ""
        if word in _OUTSIDE:
            opened = 0
        elif token.kind == "LESS" and before in _GENERIC:
            opened += 1
        elif token.kind == "MORE":
            opened = max(opened - 1, 0)
        before = word
        if token.kind == "SHIFT_RIGHT" and opened > 1:
            opened -= 2
            middle = token.start + 1
            found.append(token._replace(kind="MORE", text=">", end=middle))
            found.append(token._replace(kind="MORE", text=">", start=middle))
        else:
            found.append(token)
    return found
