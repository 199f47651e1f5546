"""ARRAY, ROW and MAP as text in the form of PostgreSQL, read one character after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.compiler.sqltypes import STRING, Kind
from fsql.tests.reference.failure import NOT_CASTABLE, FailureError
from fsql.tests.reference.scalar_maps import map_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

    Cast = Callable[[Value, SqlType, SqlType], Value]

SPACES = " \t\n\r\v\f"


def of_parts(  # noqa: C901 - one a kind
    value: tuple[Any, ...], type_: SqlType, cast: Cast
) -> str:
    """Return a value with parts as text."""

    def text(part: Value, kind: SqlType) -> str | None:
        made = None if part is None else cast(part, kind, STRING)
        assert made is None or isinstance(made, str)
        return made

    def in_quotes(part: str, quote: str) -> str:
        return '"' + "".join({"\\": "\\\\", '"': quote}.get(sign, sign) for sign in part) + '"'

    if type_.kind is Kind.ARRAY and type_.element is not None:
        items = []
        for part in value:
            made = text(part, type_.element)
            if made is None:
                items.append("NULL")
            elif type_.element.kind is Kind.ARRAY:
                items.append(made)
            elif not made or made.upper() == "NULL" or set(made) & {*'{},"\\', *SPACES}:
                items.append(in_quotes(made, '\\"'))
            else:
                items.append(made)
        return "{" + ",".join(items) + "}"
    if type_.kind is Kind.MAP:
        entries = []
        for key, part in value:
            made = text(part, type_.value)
            right = "NULL" if made is None else in_quotes(made, '\\"')
            entries.append(in_quotes(text(key, type_.key) or "", '\\"') + "=>" + right)
        return ", ".join(entries)
    fields = []
    for part, (_, kind) in zip(value, type_.fields, strict=True):
        made = text(part, kind)
        plain = made is not None and made and not set(made) & {*'(),"\\', *SPACES}
        fields.append("" if made is None else made if plain else in_quotes(made, '""'))
    return "(" + ",".join(fields) + ")"


class Reader:
    """Reads a text from its start."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        """Return the next character, nothing at the end."""
        return self.text[self.at : self.at + 1]

    def take(self, wanted: str = "") -> str:
        """Return the next character, which must be one of those wanted.

        Raises:
            FailureError: it is not, or there is none.
        """
        found = self.peek()
        if not found or (wanted and found not in wanted):
            raise FailureError(NOT_CASTABLE)
        self.at += 1
        return found

    def skip(self) -> None:
        """Skip spaces."""
        while self.peek() and self.peek() in SPACES:
            self.at += 1

    def quoted(self) -> str:
        """Return a text in quotes, without its escapes."""
        self.take('"')
        made = ""
        while self.peek() != '"':
            sign = self.take()
            made += self.take() if sign == "\\" else sign
        self.take()
        return made

    def braces(self) -> str:
        """Return a text in braces, as it is written."""
        start = self.at
        depth = 0
        while True:
            if self.peek() == '"':
                self.quoted()
                continue
            sign = self.take()
            if sign == "\\":
                self.take()
            depth += {"{": 1, "}": -1}.get(sign, 0)
            if depth == 0:
                return self.text[start : self.at]

    def word(self, ends: str) -> str:
        """Return a text without quotes, up to one of the ends; its last spaces do not belong to it."""
        made = ""
        while self.peek() and self.peek() not in ends:
            sign = self.take()
            made += self.take() if sign == "\\" else sign
        if not made.strip(SPACES):
            raise FailureError(NOT_CASTABLE)
        return made.strip(SPACES)


def with_parts(text: str, type_: SqlType, cast: Cast) -> tuple[Value, ...]:
    """Return the value with parts that a text names.

    Raises:
        FailureError: it names none.
    """
    reader = Reader(text.strip(SPACES))

    def typed(part: str | None, kind: SqlType) -> Value:
        return None if part is None else cast(part, STRING, kind)

    if type_.kind is Kind.ARRAY and type_.element is not None:
        found = items(reader, nested=type_.element.kind is Kind.ARRAY)
        return tuple(typed(each, type_.element) for each in found)
    if type_.kind is Kind.MAP:
        pairs = entries(reader)
        return map_from([(typed(k, type_.key), typed(v, type_.value)) for k, v in pairs])
    found = fields(reader)
    if len(found) != len(type_.fields):
        raise FailureError(NOT_CASTABLE)
    kinds = [kind for _, kind in type_.fields]
    return tuple(typed(each, kind) for each, kind in zip(found, kinds, strict=True))


def items(reader: Reader, *, nested: bool) -> list[str | None]:
    """Return the texts of the elements of an array, and nothing after it."""
    found: list[str | None] = []
    reader.take("{")
    reader.skip()
    sign = reader.take() if reader.peek() == "}" else ","
    while sign == ",":
        reader.skip()
        if nested and reader.peek() == "{":
            found.append(reader.braces())
        elif reader.peek() == '"':
            found.append(reader.quoted())
        else:
            start = reader.at
            word = reader.word('{},"')
            written = reader.text[start : reader.at].strip(SPACES)
            found.append(None if written.upper() == "NULL" else word)
        reader.skip()
        sign = reader.take(",}")
    if reader.peek():
        raise FailureError(NOT_CASTABLE)
    return found


def fields(reader: Reader) -> list[str | None]:
    """Return the texts of the fields of a row, and nothing after it."""
    found: list[str | None] = []
    reader.take("(")
    sign = ","
    while sign == ",":
        made: str | None = None
        inside = False
        while inside or reader.peek() not in {",", ")", "(", ""}:
            sign = reader.take()
            made = made or ""
            if sign == "\\":
                made += reader.take()
            elif sign != '"':
                made += sign
            elif inside and reader.peek() == '"':
                made += reader.take()
            else:
                inside = not inside
        found.append(made)
        sign = reader.take(",)")
    if reader.peek():
        raise FailureError(NOT_CASTABLE)
    return found


def entries(reader: Reader) -> list[tuple[str, str | None]]:
    """Return the texts of the keys and values of a map."""
    found: list[tuple[str, str | None]] = []
    if not reader.text:
        return found
    sign = ","
    while sign == ",":
        key = part(reader)
        reader.take("=")
        reader.take(">")
        in_quotes, value = part(reader)
        found.append((key[1], None if not in_quotes and value.upper() == "NULL" else value))
        sign = reader.take(",") if reader.peek() else ""
    return found


def part(reader: Reader) -> tuple[bool, str]:
    """Return whether a key or value of a map is in quotes, and its text; spaces around it are skipped."""
    reader.skip()
    in_quotes = reader.peek() == '"'
    if in_quotes:
        made = reader.quoted()
    else:
        made = ""
        while reader.peek() and reader.peek() not in f'=,"\\{SPACES}':
            made += reader.take()
        if not made:
            raise FailureError(NOT_CASTABLE)
    reader.skip()
    return in_quotes, made
