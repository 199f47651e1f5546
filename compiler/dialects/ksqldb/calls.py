"""Functions of ksqlDB over arrays, maps, JSON and bytes, in terms of those of this language.

AS_VALUE(k)                →   k, of which it is a copy
ENTRIES(m, TRUE)           →   MAP_ENTRIES(m) with the fields K and V
ARRAY_SORT(a, 'DESC')      →   ARRAY_SORT(a, FALSE, FALSE)
IS_JSON_STRING(j)          →   COALESCE(JSON_VALID(j), FALSE)
FROM_DAYS(n)               →   DATE_FROM_UNIX_DATE(n)
FROM_BYTES(b, 'hex')       →   HEX(b); for other encodings TO_BASE64 and DECODE
ENCODE(s, 'hex', 'utf8')   →   FROM_BYTES(TO_BYTES(s, 'hex'), 'utf8')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.text.source import Span

_ELEMENT: Final = generated_name("an element")
"""The parameter of a lambda, which must not hide a column of the arguments."""
_ORDERS: Final = ("ASC", "DESC")
_CHARSETS: Final = {"utf8": "UTF-8", "ascii": "US-ASCII"}


def standard_call(written: syntax.FunctionCall) -> syntax.Expression | None:
    """Return a call of a function of ksqlDB in terms of those of this language; None for other calls."""
    name = written.name.parts[-1].name.upper()
    found = _CALLS.get((name, len(written.arguments)))
    # `*` is the only argument of a call.
    arguments = [each for each in written.arguments if not isinstance(each, syntax.Star)]
    if found is None or len(arguments) < len(written.arguments):
        return None
    return found(written.name.span, *arguments)


def _copy(_span: Span, key: syntax.Expression) -> syntax.Expression:
    return key


def _entries(
    span: Span, entries: syntax.Expression, in_order: syntax.Expression
) -> syntax.Expression | None:
    """Return the entries, always in order; None if the second argument does not say whether they are."""
    if not isinstance(in_order, syntax.BooleanLiteral):
        return None
    made = _row(span, K=_field(span, "key"), V=_field(span, "value"))
    return _of_each(span, syntax.FunctionCall.of(span, "MAP_ENTRIES", entries), made)


def _sorted(
    span: Span, array: syntax.Expression, order: syntax.Expression
) -> syntax.Expression | None:
    """Return the array in order, NULLs last; None if the second argument is no word for an order."""
    word = order.value.upper() if isinstance(order, syntax.StringLiteral) else None
    if word not in _ORDERS:
        return None
    if word == "ASC":
        return syntax.FunctionCall.of(span, "ARRAY_SORT", array)
    false = syntax.BooleanLiteral(span, value=False)
    return syntax.FunctionCall.of(span, "ARRAY_SORT", array, false, false)


def _is_json(span: Span, text: syntax.Expression) -> syntax.Expression:
    false = syntax.BooleanLiteral(span, value=False)
    return syntax.FunctionCall.of(
        span, "COALESCE", syntax.FunctionCall.of(span, "JSON_VALID", text), false
    )


def _from_days(span: Span, days: syntax.Expression) -> syntax.Expression:
    return syntax.FunctionCall.of(span, "DATE_FROM_UNIX_DATE", days)


def _from_bytes(
    span: Span, octets: syntax.Expression, encoding: syntax.Expression
) -> syntax.Expression | None:
    """Return the text of bytes; None if the encoding is not known."""
    word = encoding.value.lower() if isinstance(encoding, syntax.StringLiteral) else ""
    match word:
        case "hex":
            return syntax.FunctionCall.of(span, "HEX", octets)
        case "base64":
            return syntax.FunctionCall.of(span, "TO_BASE64", octets)
        case "utf8" | "ascii":
            return syntax.FunctionCall.of(
                span, "DECODE", octets, syntax.StringLiteral(encoding.span, _CHARSETS[word])
            )
        case _:
            return None


def _encoded(
    span: Span, text: syntax.Expression, given: syntax.Expression, wanted: syntax.Expression
) -> syntax.Expression | None:
    """Return a text in another encoding; as in ksqlDB, hexadecimal digits are in lower case."""
    made = _from_bytes(span, syntax.FunctionCall.of(span, "TO_BYTES", text, given), wanted)
    is_hex = isinstance(wanted, syntax.StringLiteral) and wanted.value.lower() == "hex"
    return syntax.FunctionCall.of(span, "LOWER", made) if is_hex and made is not None else made


_CALLS: Final[Mapping[tuple[str, int], Callable[..., syntax.Expression | None]]] = {
    ("AS_VALUE", 1): _copy,
    ("ENTRIES", 2): _entries,
    ("ARRAY_SORT", 2): _sorted,
    ("IS_JSON_STRING", 1): _is_json,
    ("FROM_DAYS", 1): _from_days,
    ("FROM_BYTES", 2): _from_bytes,
    ("ENCODE", 3): _encoded,
}
"""What stands for a call, by the name of the function and the number of arguments."""


def _element(span: Span) -> syntax.ColumnReference:
    return syntax.ColumnReference(span, (syntax.Identifier(span, _ELEMENT),))


def _field(span: Span, name: str) -> syntax.Expression:
    return syntax.FieldAccess(span, _element(span), syntax.Identifier(span, name))


def _lambda(span: Span, value: syntax.Expression) -> syntax.Lambda:
    return syntax.Lambda(span, (syntax.Identifier(span, _ELEMENT),), value)


def _of_each(span: Span, array: syntax.Expression, value: syntax.Expression) -> syntax.Expression:
    return syntax.FunctionCall.of(span, "TRANSFORM", array, _lambda(span, value))


def _row(span: Span, **items: syntax.Expression) -> syntax.Expression:
    names = tuple(syntax.Identifier(span, name) for name in items)
    return syntax.RowConstructor(span, tuple(items.values()), names)
