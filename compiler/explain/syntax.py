"""The syntax as text and as JSON: the output of `fsql explain --stage syntax`.

A record is printed on one line, `Name(field=value, …)`, if it fits, otherwise as an indented tree. Fields
without content (None, empty, FALSE) are left out; names, literals and types are printed in the form of SQL.

    Select
      items: [SelectItem(expression=a, alias=b)]
      relations: [TableReference(name=t)]

Records are rendered from the inside to the outside, without recursion: text may be deeply nested.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics.excerpt import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH: Final = 100

_Inline = dict[int, str | None]
"""The text of each record on one line by its identity, None if it is longer than a line."""


def syntax_text(script: syntax.Script) -> str:
    """Return the statements of `script` as text."""
    inline: _Inline = {}
    for record in _inside_out(script):
        inline[id(record)] = _short(_inline_record(record, inline))
    return "".join(f"{line}\n" for each in script.statements for line in _lines(each, inline))


def syntax_json(script: syntax.Script) -> str:
    """Return the statements of `script` as JSON: a record is an object with "record" and "span"."""
    texts: dict[int, str] = {}
    for record in _inside_out(script):
        said = [("record", type(record).__name__), ("span", (record.span.start, record.span.end))]
        fields = [
            f"{json.dumps(name)}: {_json(value, texts)}" for name, value in said + _fields(record)
        ]
        texts[id(record)] = f"{{{', '.join(fields)}}}"
    return _json(script.statements, texts) + "\n"


def _inside_out(script: syntax.Script) -> Iterator[syntax.Syntax]:
    """Yield the records of `script`, each after the records inside it."""
    order: list[syntax.Syntax] = []
    stack: list[object] = list(script.statements)
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack += value
        elif isinstance(value, syntax.Syntax):
            order.append(value)
            stack += [field for _, field in _fields(value)]
    return reversed(order)


def _fields(record: syntax.Syntax) -> list[tuple[str, object]]:
    """Return the fields of `record` that are written, with their names: all but the span and derived ones."""
    return [
        (field.name, getattr(record, field.name))
        for field in dataclasses.fields(record)
        if field.name != "span" and field.repr
    ]


def _json(value: object, texts: dict[int, str]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_json(item, texts) for item in value)}]"
    return texts[id(value)] if isinstance(value, syntax.Syntax) else json.dumps(value)


def _lines(statement: syntax.Statement, inline: _Inline) -> Iterator[str]:
    """Yield the lines of `statement`: a stack holds the values that remain to be printed, the next on top.

    Each entry has the prefix of its first line, the prefix of its other lines, and the value.
    """
    stack: list[tuple[str, str, object]] = [("", "", statement)]
    while stack:
        first, rest, value = stack.pop()
        line = _inline_value(value, inline)
        if line is not None and len(first) + len(line) <= _WIDTH:
            yield first + line
        elif isinstance(value, tuple):
            yield first.rstrip()
            stack += [(f"{rest}  - ", f"{rest}    ", item) for item in reversed(value)]
        elif isinstance(value, syntax.Syntax) and _atom(value) is None:
            yield first + type(value).__name__
            said = reversed(_significant_fields(value))
            stack += [(f"{rest}  {name}: ", f"{rest}  ", field) for name, field in said]
        else:
            yield first + (_atom(value) or str(value))


def _inline_value(value: object, inline: _Inline) -> str | None:
    match value:
        case syntax.Syntax():
            return inline[id(value)]
        case tuple():
            items = [_inline_value(item, inline) for item in value]
            return None if None in items else _short(f"[{', '.join(filter(None, items))}]")
        case bool():
            return "TRUE" if value else "FALSE"
        case _:  # A keyword or a unit is unchanged, an operator is in quotes.
            text = str(value)
            return text if text.replace(" ", "").isalnum() else f"'{text}'"


def _short(text: str | None) -> str | None:
    return text if text is not None and len(text) <= _WIDTH else None


def _inline_record(record: syntax.Syntax, inline: _Inline) -> str | None:
    """Return `record` on one line if all of its values have one."""
    atom = _atom(record)
    if atom is not None:
        return atom
    texts = []
    for name, field in _significant_fields(record):
        text = _inline_value(field, inline)
        if text is None:
            return None
        texts.append((name, text))
    if isinstance(record, syntax.ChainLink):
        return f"{record.operator} {inline[id(record.operand)]}"
    if isinstance(record, syntax.TypeName):
        return _type(record, [inline[id(argument)] or "" for argument in record.arguments])
    return f"{type(record).__name__}({', '.join(f'{name}={text}' for name, text in texts)})"


def _significant_fields(record: syntax.Syntax) -> list[tuple[str, object]]:
    """Return the fields of `record` that have content: not None, empty or FALSE, with two exceptions.

    GROUP BY () and NULLS LAST are significant; a missing clause is None.
    """
    return [
        (name, value)
        for name, value in _fields(record)
        if value or (name in {"group_by", "nulls_first"} and value is not None)
    ]


def _atom(record: object) -> str | None:
    """Return a name or literal in the form of SQL, None for other records."""
    text = None
    match record:
        case syntax.Identifier():
            text = _dotted_name((record,))
        case syntax.QualifiedName(parts=parts) | syntax.ColumnReference(parts=parts):
            text = _dotted_name(parts)
        case syntax.Star(qualifier=qualifier, without=(), replaced=()):
            text = f"{_dotted_name(qualifier)}.*" if qualifier else "*"
        case syntax.NumberLiteral(text=number):
            text = number
        case syntax.StringLiteral(value=value):
            text = _quote(value, "'")
        case syntax.BooleanLiteral(value=truth):
            text = "TRUE" if truth else "FALSE"
        case syntax.NullLiteral():
            text = "NULL"
        case _:
            pass
    return text


def _dotted_name(parts: tuple[syntax.Identifier, ...]) -> str:
    return ".".join(_quote(part.name, '"') if part.quoted else part.name for part in parts)


def _quote(text: str, quote: str) -> str:
    return f"{quote}{visible(text.replace(quote, quote * 2))}{quote}"


def _type(type_: syntax.TypeName, arguments: list[str]) -> str:
    """Return the text of `type_`, whose arguments are already text."""
    name, _, rest = type_.name.partition(" ")
    numbers = f"({', '.join(map(str, type_.numbers))})" if type_.numbers else ""
    named = [f"{field.name} {text}" for field, text in zip(type_.fields, arguments, strict=False)]
    inner = f"<{', '.join(named or arguments)}>" if arguments else ""
    null = " NOT NULL" if type_.not_null else ""
    return f"{name}{numbers}{inner}{' ' if rest else ''}{rest}{null}"
