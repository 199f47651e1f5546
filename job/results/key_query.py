"""Queries that name the whole key of a result: they are answered from its slots, without the engine.

    SELECT * FROM best WHERE item = 'vase'
    SELECT best, item FROM best WHERE item = 'vase' AND day = 3 LIMIT 1

What has another form, or a literal of another type than its column, is not recognised here: the engine
gives the same answer more slowly.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.job.results.result_schema import ResultSchema

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<quoted>\"(?:[^\"]|\"\")+\")|(?P<text>'(?:[^']|'')*')"
    r"|(?P<number>-?\d{1,18}(?![\w.]))|(?P<sign>[*,=.;]))",
    re.ASCII,
)
_INTEGERS: Final = {
    Kind.TINYINT: 8,
    Kind.SMALLINT: 16,
    Kind.INT: 32,
    Kind.BIGINT: 64,
}
_WORDS: Final = frozenset({"select", "from", "where", "and", "limit", "as", "distinct", "all"})
_LENGTH_MAX: Final = 10_000


class KeyQuery(NamedTuple):
    """A query for rows of one key: the columns that it asks for, None for all, and the key's values."""

    table: str
    columns: tuple[str, ...] | None
    values: dict[str, str | int]


class _Token(NamedTuple):
    kind: str
    text: str

    def is_word(self, word: str) -> bool:
        return self.kind == "name" and self.text.lower() == word


_END: Final = _Token("end", "")


class _Tokens:
    """The tokens of a text, taken one after the other; `ValueError` means that it has another form."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def take(self) -> _Token:
        token = self.next
        self._at += 1
        return token

    def takes(self, word: str) -> bool:
        if self.next.is_word(word) or (self.next.kind == "sign" and self.next.text == word):
            self._at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.takes(word):
            raise ValueError

    def name(self) -> str:
        token = self.take()
        if token.kind == "quoted":
            return token.text[1:-1].replace('""', '"')
        if token.kind == "name" and token.text.lower() not in _WORDS:
            return token.text
        raise ValueError

    def value(self) -> str | int:
        token = self.take()
        if token.kind == "text":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "number":
            return int(token.text)
        raise ValueError


def read_key_query(text: str) -> KeyQuery | None:
    """Return a query if it has the form of one for a key."""
    if len(text) > _LENGTH_MAX:
        return None
    tokens, at, text = [], 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            return None
        tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    try:
        return _read(_Tokens(tokens))
    except ValueError:
        return None


def _read(tokens: _Tokens) -> KeyQuery:
    tokens.expect("select")
    columns: tuple[str, ...] | None = None
    if not tokens.takes("*"):
        names = [tokens.name()]
        while tokens.takes(","):
            names.append(tokens.name())
        columns = tuple(names)
    tokens.expect("from")
    table = tokens.name()
    tokens.expect("where")
    values: dict[str, str | int] = {}
    while True:
        name = tokens.name()
        tokens.expect("=")
        if name in values:
            raise ValueError
        values[name] = tokens.value()
        if not tokens.takes("and"):
            break
    if tokens.takes("limit") and tokens.value() != 1:
        raise ValueError
    tokens.takes(";")
    if tokens.next is not _END:
        raise ValueError
    return KeyQuery(table, columns, values)


def key_columns(query: KeyQuery, schema: ResultSchema, key: Sequence[int]) -> list[pa.Array] | None:
    """Return the key of a query as columns; None if it does not name exactly the key, by its types."""
    wanted = [schema.columns[at] for at in key]
    if {column.name for column in wanted} != query.values.keys():
        return None
    if query.columns is not None and (
        len(set(query.columns)) < len(query.columns) or set(query.columns) - set(schema.names)
    ):
        return None
    found = []
    for at, column in zip(key, wanted, strict=True):
        value, kind = query.values[column.name], column.type.kind
        if isinstance(value, str):
            if kind is not Kind.STRING:
                return None
        elif kind not in _INTEGERS or not -(1 << (_INTEGERS[kind] - 1)) <= value < 1 << (
            _INTEGERS[kind] - 1
        ):
            return None
        found.append(pa.array([value], schema.types[at]))
    return found
