"""Keywords: which words are keywords, and where.

The grammar determines this, not the word: `end` ends a CASE and is also a valid column name, `rows` begins a
frame and may be an alias.  Only the words that begin or join clauses are reserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.parser.parse_table import parse_table

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.parser.lookahead import Lookahead

RESERVED: Final = frozenset({
    "ALL", "AND", "AS", "BETWEEN", "CASE", "CAST", "CREATE", "CROSS", "CURRENT_DATE",
    "CURRENT_TIME", "CURRENT_TIMESTAMP", "DISTINCT", "ELSE", "EMIT", "EXCEPT", "EXISTS",
    "FALSE", "FOR", "FROM", "FULL", "GROUP", "HAVING", "IN", "INNER", "INSERT", "INTERSECT",
    "INTERVAL", "INTO", "IS", "JOIN", "LATERAL", "LEFT", "LIKE", "LIMIT", "LOCALTIME",
    "LOCALTIMESTAMP", "NATURAL", "NOT", "NULL", "ON", "OR", "ORDER", "OVER", "QUALIFY", "RIGHT",
    "SELECT", "TABLE", "THEN", "TRUE", "TRY_CAST", "UNION", "UNNEST", "USING", "VALUES", "WHEN",
    "WHERE", "WITH",
})  # fmt: skip
"""Keywords that are names only in quotes."""


def kind_at(token: Token, following: Token | None, lookahead: Lookahead) -> str:
    """Return the kind of `token` at `lookahead`: for a WORD, whether it is a keyword or a NAME.

    A keyword that is not reserved is a name if the grammar only allows a name, and if it allows both but the
    token after it, `following`, can only continue after the name: `SELECT a at FROM t`.
    """
    if token.kind != "WORD":
        return token.kind
    keyword = token.text.upper()
    if keyword not in parse_table().keywords or not token.text.isascii():
        return "NAME"
    if keyword in RESERVED:
        return keyword
    if keyword not in lookahead.actions:
        return "NAME"
    if "NAME" not in lookahead.actions or _can_continue(keyword, following, lookahead):
        return keyword
    return "NAME" if _can_continue("NAME", following, lookahead) else keyword


def _can_continue(kind: str, following: Token | None, lookahead: Lookahead) -> bool:
    """Return whether a token of `kind` can be next, and `following` after it."""
    ahead = lookahead.copy()
    if not ahead.take(kind):
        return False
    return following is None or any(map(ahead.takes, _possible_kinds(following)))


def _possible_kinds(token: Token) -> tuple[str, ...]:
    if token.kind != "WORD":
        return (token.kind,)
    keyword = token.text.upper()
    return (keyword,) if keyword in RESERVED else (keyword, "NAME")
