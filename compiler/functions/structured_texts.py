"""ARRAY, ROW and MAP as text, to write and to read: `{a,b}`, `(a,b)` and `"k"=>"v"`.

    ARRAY['a', NULL, 'b c']       {a,NULL,"b c"}       nested arrays in further braces
    ROW(1, NULL, 'b c')           (1,,"b c")
    MAP['a', 1, 'b', NULL]        "a"=>"1", "b"=>NULL

The parts are texts, as a CAST of each makes and reads them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.functions.failure import UnreadableTextFailure
from fsql.compiler.functions.map_entries import map_of_entries
from fsql.compiler.sqltypes import STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

    Cast = Callable[[Value, SqlType, SqlType], Value]

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_SPACE: Final = r"[ \t\n\r\v\f]*"
_PLAIN_ITEM: Final = re.compile(r'[^{}",\\ \t\n\r\v\f]+')
_PLAIN_FIELD: Final = re.compile(r'[^(),"\\ \t\n\r\v\f]+')
_ITEM: Final = re.compile(rf'{_QUOTED}|(?:[^{{}}",\\]|\\.)+|[{{}},]', re.DOTALL)
_FIELD: Final = re.compile(r'(?:"(?:[^"\\]|""|\\.)*"|[^(),"\\]|\\.)*', re.DOTALL)
_PAIR: Final = re.compile(
    rf"{_SPACE}({_QUOTED}|[^\"=,\\\s]+){_SPACE}=>{_SPACE}({_QUOTED}|[^\"=,\\\s]+){_SPACE}(,|\Z)",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def write_structured(value: tuple[Any, ...], type_: SqlType, cast: Cast) -> str:
    """Return an ARRAY, ROW or MAP as text; `cast` makes the texts of its parts."""
    if type_.kind is Kind.MAP:
        return ", ".join(
            f"{_quote(_text(key, type_.key, cast))}=>{_map_value(each, type_.value, cast)}"
            for key, each in value
        )
    if type_.element is not None:
        element = type_.element
        return f"{{{','.join(_item(each, element, cast) for each in value)}}}"
    pairs = zip(value, type_.field_types, strict=True)
    return f"({','.join(_field(each, field, cast) for each, field in pairs)})"


def read_structured(text: str, type_: SqlType, cast: Cast) -> tuple[Value, ...]:
    """Return the value that a text names; `cast` reads the texts of its parts.

    Raises:
        RowFailure: E502 to E504 and E510, if it names none.
    """
    stripped = text.strip(" \t\n\r\v\f")
    found: list[str | None] | None
    if type_.kind is Kind.MAP:
        pairs = _pairs(stripped)
        if pairs is None:
            raise UnreadableTextFailure(text, type_)
        return map_of_entries(
            (cast(key, STRING, type_.key), cast(value, STRING, type_.value)) for key, value in pairs
        )
    found = _items(stripped, type_.element) if type_.element is not None else _fields(stripped)
    types = type_.field_types or type_.parts * len(found or ())
    if found is None or len(found) != len(types):
        raise UnreadableTextFailure(text, type_)
    return tuple(cast(each, STRING, part) for each, part in zip(found, types, strict=True))


def _text(value: Value, type_: SqlType, cast: Cast) -> str:
    text = cast(value, type_, STRING)
    assert isinstance(text, str)
    return text


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _item(value: Value, type_: SqlType, cast: Cast) -> str:
    if value is None:
        return "NULL"
    text = _text(value, type_, cast)
    plain = type_.kind is Kind.ARRAY or (_PLAIN_ITEM.fullmatch(text) and text.upper() != "NULL")
    return text if plain else _quote(text)


def _field(value: Value, type_: SqlType, cast: Cast) -> str:
    if value is None:
        return ""
    text = _text(value, type_, cast)
    if _PLAIN_FIELD.fullmatch(text):
        return text
    doubled = text.replace("\\", "\\\\").replace('"', '""')
    return f'"{doubled}"'


def _map_value(value: Value, type_: SqlType, cast: Cast) -> str:
    return "NULL" if value is None else _quote(_text(value, type_, cast))


def _items(text: str, element: SqlType) -> list[str | None] | None:
    """Return the texts of the elements of `{a,"b",NULL}`; None if it is no such text."""
    tokens = _ITEM.findall(text)
    if "".join(tokens) != text or tokens[:1] != ["{"] or tokens[-1] != "}" or len(tokens) < 2:
        return None
    parts: list[list[str]] = [[]]
    depth = 0
    for sign in tokens[1:-1]:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return None
        if sign == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(sign)
    if depth or (len(parts) == 1 and not "".join(parts[0]).strip()):
        return None if depth else []
    found = [_element(tokens, nested=element.kind is Kind.ARRAY) for tokens in parts]
    return None if any(each == [] for each in found) else [each[0] for each in found]


def _element(tokens: list[str], *, nested: bool) -> list[str | None]:
    """Return the text of an element, in brackets; nothing if the tokens are none."""
    written = [token for token in tokens if token.strip()]
    text = "".join(tokens).strip()
    if nested and text.startswith("{"):
        return [text]
    if len(written) != 1 or written[0] in "{}":
        return []
    if text.startswith('"'):
        return [_ESCAPED.sub(r"\1", text[1:-1])]
    return [None if text.upper() == "NULL" else _ESCAPED.sub(r"\1", text)]


def _fields(text: str) -> list[str | None] | None:
    """Return the texts of the fields of `(a,"b",)`; None if it is no such text."""
    if not text.startswith("("):
        return None
    found: list[str | None] = []
    at = 1
    while True:
        match = _FIELD.match(text, at)
        assert match is not None
        found.append(_field_text(match[0]) if match[0] else None)
        at = match.end() + 1
        sign = text[match.end() : at]
        if sign != ",":
            return found if sign == ")" and at == len(text) else None


def _field_text(text: str) -> str:
    """Return a field without the quotes around its parts; within them a quote is doubled."""
    made: list[str] = []
    at, inside = 0, False
    while at < len(text):
        escaped = text[at] == "\\" or (inside and text[at : at + 2] == '""')
        if escaped:
            at += 1
        if escaped or text[at] != '"':
            made.append(text[at])
        else:
            inside = not inside
        at += 1
    return "".join(made)


def _pairs(text: str) -> list[tuple[str, str | None]] | None:
    """Return the texts of keys and values of `"a"=>"1", b=>NULL`; None if it is no such text."""
    found: list[tuple[str, str | None]] = []
    at = 0
    while at < len(text):
        match = _PAIR.match(text, at)
        if match is None or (match[3] == "," and not text[match.end() :].strip()):
            return None
        key, value = match[1], match[2]
        nothing = value.upper() == "NULL"
        found.append((_word(key), None if nothing else _word(value)))
        at = match.end()
    return found


def _word(text: str) -> str:
    return _ESCAPED.sub(r"\1", text[1:-1]) if text.startswith('"') else text
