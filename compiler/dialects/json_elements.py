"""Functions of PostgreSQL that return the elements of JSON: UNNEST of arrays that other functions make.

FROM t, jsonb_array_elements(a) AS e(x)   →   FROM t, UNNEST(JSON_ITEMS(a)) AS e(x)
FROM t, jsonb_object_keys(a) AS e(x)      →   FROM t, UNNEST(JSON_KEYS(a)) AS e(x)
FROM t, jsonb_each(a) AS e                →   FROM t, UNNEST(rows of the keys and values) AS e(key, value)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

_ARRAYS: Final = frozenset(
    f"{prefix}_ARRAY_ELEMENTS{suffix}" for prefix in ("JSON", "JSONB") for suffix in ("", "_TEXT")
)
_OBJECTS: Final = frozenset(
    f"{prefix}_EACH{suffix}" for prefix in ("JSON", "JSONB") for suffix in ("", "_TEXT")
)
_KEYS: Final = frozenset({"JSON_OBJECT_KEYS", "JSONB_OBJECT_KEYS"})
_ELEMENT: Final = generated_name("an element")
"""The parameter of a lambda, which must not hide a column of the document."""


def json_array(name: str, span: Span, document: syntax.Expression) -> syntax.Expression | None:
    """Return the array of the elements that a function returns; None for other functions.

    The name is in upper case.  With `_TEXT`, strings are without quotes, and null is NULL.
    """
    if name not in _ARRAYS:
        return None
    items = syntax.FunctionCall.of(span, "JSON_ITEMS", document)
    if not name.endswith("_TEXT"):
        return items
    whole = syntax.StringLiteral(span, "$")
    return _of_each(
        span, items, syntax.FunctionCall.of(span, "JSON_EXTRACT_STRING", _element(span), whole)
    )


def json_relation(function: syntax.TableFunction) -> syntax.Unnest | None:
    """Return a call of such a function in FROM as UNNEST; None for other calls."""
    span, name, arguments = function.span, function.name, function.arguments
    alias, ordinality = function.alias, function.ordinality
    called = name.parts[-1].name.upper()
    if len(arguments) != 1 or len(name.parts) > 1 or called not in _ARRAYS | _OBJECTS | _KEYS:
        return None
    (document,) = arguments
    if not isinstance(document, syntax.Expression):
        return None
    if called in _ARRAYS | _KEYS:
        array = json_array(called, span, document) or syntax.FunctionCall.of(
            span, "JSON_KEYS", document
        )
        if alias is None:
            column = "value" if called in _ARRAYS else name.parts[-1].name
            alias = _named(span, name.parts[-1], column, ordinality=ordinality)
        return syntax.Unnest(span, array, ordinality, alias)
    keys = syntax.FunctionCall.of(span, "JSON_KEYS", document)
    get = "JSON_GET_TEXT" if called.endswith("_TEXT") else "JSON_GET"
    key = _element(span)
    entry = syntax.RowConstructor(span, (key, syntax.FunctionCall.of(span, get, document, key)))
    entries = _of_each(span, keys, entry)
    alias = alias or syntax.TableAlias(span, name.parts[-1])
    if not alias.columns:
        alias = _named(alias.span, alias.name, "key", "value", ordinality=ordinality)
    return syntax.Unnest(span, entries, ordinality, alias)


def _named(
    span: Span, name: syntax.Identifier, *columns: str, ordinality: bool
) -> syntax.TableAlias:
    named = (*columns, "ordinality") if ordinality else columns
    return syntax.TableAlias(span, name, tuple(syntax.Identifier(span, each) for each in named))


def _element(span: Span) -> syntax.ColumnReference:
    return syntax.ColumnReference(span, (syntax.Identifier(span, _ELEMENT),))


def _of_each(span: Span, array: syntax.Expression, value: syntax.Expression) -> syntax.Expression:
    body = syntax.Lambda(span, (syntax.Identifier(span, _ELEMENT),), value)
    return syntax.FunctionCall.of(span, "TRANSFORM", array, body)
