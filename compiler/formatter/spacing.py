"""Determines where two tokens of a line are separated by a space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.formatter.pieces import TYPE_CLOSES, TYPE_OPENS

if TYPE_CHECKING:
    from fsql.compiler.formatter.pieces import LayoutToken

_CALLED: Final = frozenset({
    "ARRAY", "CAST", "CEIL", "CEILING", "CUBE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "DATE",
    "DESCRIPTOR", "EXTRACT", "FLOOR", "GROUPING", "LEFT", "LOCALTIME", "LOCALTIMESTAMP", "MAP",
    "NAME", "OVERLAY", "POSITION", "QUOTED_NAME", "RIGHT", "ROLLUP", "ROW", "STRUCT", "SUBSTRING",
    "TABLE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "TRIM", "TRY_CAST", "UNNEST",
})  # fmt: skip
"""The kinds of tokens that a bracket follows without a space: names of functions and types."""
_TIGHT: Final = frozenset({")", "]", "[]", "}", ",", ";", ".", "::", ":"})
_SIGNED: Final = frozenset({"unary", "complement", "position_from_end", "signed_number"})
_NAMES: Final = frozenset({"names", "table_elements", "subquery", "parameters"})


def has_space(before: LayoutToken, piece: LayoutToken) -> bool:
    """Return whether there is a space between two tokens."""
    if piece.text in _TIGHT or before.text in {"(", "[", "{", ".", "::"}:
        return False
    if "pattern_quantifier" in piece.rules or piece.text == "?":
        return False
    if piece.text in {"(", "["}:
        return opens_with_space(before, piece)
    types = {TYPE_OPENS} & (piece.rules | before.rules) or {TYPE_CLOSES} & piece.rules
    return not types and not _is_sign(before)


def opens_with_space(before: LayoutToken | None, opening: LayoutToken) -> bool:
    """Return whether there is a space before a bracket."""
    if before is None or before.text in {"(", "[", "."} or _is_sign(before):
        return False
    if TYPE_OPENS in opening.rules | before.rules:
        return False
    if opening.text == "[":
        return before.kind not in _CALLED and before.text not in {")", "]"}
    return before.kind not in _CALLED or (
        before.kind != "DESCRIPTOR" and bool(opening.rules & _NAMES)
    )


def _is_sign(piece: LayoutToken) -> bool:
    """Return whether a token is the sign of its operand, not an operator between two values."""
    return bool(_SIGNED & piece.rules) and piece.text in {"-", "+", "~"}
