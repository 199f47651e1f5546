"""Names and types."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


def name(span: Span, token: Token) -> syntax.Identifier:
    """Return a name."""
    return syntax.Identifier(span, token.text, token.kind == "QUOTED_NAME")


column_keyword = name
function_name = name


def qualified_name(span: Span, *parts: syntax.Identifier) -> syntax.QualifiedName:
    """Return `a.b`."""
    return syntax.QualifiedName(span, parts)


def names(_span: Span, *each: syntax.Identifier) -> tuple[syntax.Identifier, ...]:
    """Return `(a, b)`."""
    return each


def type_name(_span: Span, token: Token) -> str:
    """Return the name of a type, which is case-insensitive."""
    return token.text.upper()


def simple_type(
    span: Span, name: str, numbers: tuple[int, ...], suffix: str | Token | None
) -> syntax.TypeName:
    """Return `name(1, 2) WITH TIME ZONE`, or `name UNSIGNED`."""
    word = suffix if suffix is None or isinstance(suffix, str) else suffix.text.upper()
    return syntax.TypeName(span, name if word is None else f"{name} {word}", numbers)


def numbers(span: Span, *tokens: Token | None) -> tuple[int, ...]:
    """Return the numbers after a type's name, none if they are missing.

    Raises:
        FsqlError: E113 if one is not a whole number.
    """
    texts = [token.text for token in tokens if token is not None]
    if not all(text.isdigit() and len(text) <= _DIGITS_MAX for text in texts):
        label = Label(span, "not a whole number of at most ten digits")
        raise FsqlError([Diagnostic("E113", "the size of a type is a whole number", label)])
    return tuple(map(int, texts))


_DIGITS_MAX: Final = 10


def time_zone(_span: Span, preposition: Token, local: Token | None = None) -> str:
    """Return `WITH LOCAL TIME ZONE` or a similar clause."""
    return f"{preposition.text.upper()} {'LOCAL ' if local else ''}TIME ZONE"


def double_type(span: Span) -> syntax.TypeName:
    """Return DOUBLE, even if it is written DOUBLE PRECISION."""
    return syntax.TypeName(span, "DOUBLE")


def interval_type(span: Span, unit: syntax.Unit | None, to: syntax.Unit | None) -> syntax.TypeName:
    """Return `INTERVAL DAY TO SECOND` or a similar type."""
    words = ["INTERVAL", *([unit] if unit else []), *(["TO", to] if to else [])]
    return syntax.TypeName(span, " ".join(words))


def interval_without_unit(span: Span) -> syntax.TypeName:
    """Return `INTERVAL`, of `x::interval`."""
    return syntax.TypeName(span, "INTERVAL")


def generic_type(span: Span, name: str, *arguments: syntax.TypeName) -> syntax.TypeName:
    """Return `ARRAY<INT>`, `MAP<STRING, INT>`."""
    return syntax.TypeName(span, name, arguments=arguments)


def array_type(span: Span, element: syntax.TypeName, *brackets: Token) -> syntax.TypeName:
    """Return `INT[]`, which is `ARRAY<INT>`."""
    type_ = element
    for _ in brackets:
        type_ = syntax.TypeName(span, "ARRAY", arguments=(type_,))
    return type_


structured_array_type = array_type


def row_type(span: Span, *fields: tuple[syntax.Identifier, syntax.TypeName]) -> syntax.TypeName:
    """Return `ROW<a INT, b STRING>`."""
    return syntax.TypeName(
        span,
        "ROW",
        arguments=tuple(type_ for _, type_ in fields),
        fields=tuple(field for field, _ in fields),
    )


def type_argument(span: Span, type_: syntax.TypeName, not_null: bool) -> syntax.TypeName:  # noqa: FBT001
    """Return a type between `<` and `>`."""
    return dataclasses.replace(type_, span=span, not_null=not_null)


def type_field(
    _span: Span,
    name: syntax.Identifier,
    type_: syntax.TypeName,
    not_null: bool,  # noqa: FBT001
) -> tuple[syntax.Identifier, syntax.TypeName]:
    """Return a field of ROW<…>."""
    return name, dataclasses.replace(type_, not_null=not_null)


def nullability(_span: Span, not_: Token | None) -> bool:
    """Return whether NOT NULL is given."""
    return not_ is not None
