"""Keywords: which words are, and where.

The grammar decides, not the word: `end` ends a CASE and is a fine name of a column, `rows` begins a frame
and may be an alias.  Only the words that begin or join clauses are reserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.parser.parse_table import parse_table

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Word
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


def kind_at(word: Word, following: Word | None, place: Lookahead) -> str:
    """Return the kind of `word` at `place`: of a WORD, whether it is a keyword or NAME.

    A keyword that is not reserved is a name where the grammar takes it as a name only, and where it takes
    both but the word after it, `following`, goes on from the name alone: `SELECT a at FROM t`.
    """
    if word.kind != "WORD":
        return word.kind
    keyword = word.text.upper()
    if keyword not in parse_table().words or not word.text.isascii():
        return "NAME"
    if keyword in RESERVED:
        return keyword
    if keyword not in place.actions:
        return "NAME"
    if "NAME" not in place.actions or _goes_on(keyword, following, place):
        return keyword
    return "NAME" if _goes_on("NAME", following, place) else keyword


def _goes_on(kind: str, following: Word | None, place: Lookahead) -> bool:
    """Return whether a word of `kind` may come next, and `following` after it."""
    ahead = place.copy()
    if not ahead.take(kind):
        return False
    return following is None or any(map(ahead.takes, _possible_kinds(following)))


def _possible_kinds(word: Word) -> tuple[str, ...]:
    if word.kind != "WORD":
        return (word.kind,)
    keyword = word.text.upper()
    return (keyword,) if keyword in RESERVED else (keyword, "NAME")
