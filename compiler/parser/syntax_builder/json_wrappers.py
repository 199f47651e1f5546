"""`WITH WRAPPER` of JSON_QUERY: after the path, or after the type of RETURNING as in the standard."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import cast as typed

from fsql.compiler.parser.syntax_builder.json_clauses import WrappedPath, WrappedType, Wrapper
from fsql.compiler.parser.syntax_builder.names import simple_type

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


def wrapped_path(_span: Span, path: syntax.Expression, written: Wrapper) -> WrappedPath:
    """Return `'path' WITH WRAPPER`."""
    return WrappedPath(path, written)


def wrapper(span: Span, token: Token, kind: Token | None = None) -> Wrapper:
    """Return `WITH WRAPPER`."""
    function = "JSON_QUERY"
    if token.kind == "WITH":
        conditional = kind is not None and kind.kind == "CONDITIONAL"
        function = "JSON_QUERY_WRAPPED_IF_NEEDED" if conditional else "JSON_QUERY_WRAPPED"
    return Wrapper(span, function)


def returning(_span: Span, type_: syntax.TypeName | WrappedType) -> syntax.TypeName | WrappedType:
    """Return the type of `RETURNING type`."""
    return type_


def wrapped_type(
    span: Span, *parts: str | tuple[int, ...] | syntax.TypeName | Wrapper
) -> WrappedType:
    """Return `type WITH WRAPPER`."""
    *named, written = parts
    if len(named) == 1:
        return WrappedType(typed("syntax.TypeName", named[0]), typed("Wrapper", written))
    name, given = named
    type_ = simple_type(span, typed("str", name), typed("tuple[int, ...]", given), None)
    return WrappedType(type_, typed("Wrapper", written))
