"""JSON_VALUE, JSON_QUERY and JSON_EXISTS with `… ON EMPTY` and `… ON ERROR`; `ABSENT ON NULL`.

| function  | arguments                                                  |
|-----------|------------------------------------------------------------|
| f_or      | document, path, value on empty, value on error             |
| f_or_fail | document, path, FAIL or KEEP on empty, FAIL or KEEP on error, the two values |

Both values have the type of the result, to which the text that is found is cast.  They are arguments like
any other, so they are evaluated for each row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.casts import cast_value, castable
from fsql.compiler.functions.failure import (
    NoJsonValueFailure,
    OtherJsonValueFailure,
    RowFailure,
    UnreadableTextFailure,
)
from fsql.compiler.functions.json_documents import (
    all_at,
    document_of,
    fits,
    path_steps,
    plain_text,
    wild_path_error,
    write_document,
)
from fsql.compiler.functions.json_functions import JSON_FUNCTIONS, json_builder, object_of
from fsql.compiler.functions.signature import Function, Match, Nullability, Signature
from fsql.compiler.sqltypes import STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

FAIL: Final = "FAIL"
KEEP: Final = "KEEP"

_OF: Final = (
    *("json_value", "json_query", "json_query_wrapped", "json_query_wrapped_if_needed"),
    "json_exists",
)


def _found(find: Callable[[str, str], Value], result: SqlType, text: str, path: str) -> Value:
    """Return what lies at a path, None if there is nothing, or null.

    Raises:
        RowFailure: E502 to E504, if the text is not JSON, the path is strict and does not fit, there is
            something else or more than one value, or the value is not of the type of the result.
    """
    document = document_of(text)
    if document is None:
        raise UnreadableTextFailure(text, "JSON")
    if not fits(document[0], path):
        raise NoJsonValueFailure(path)
    value = find(text, path)
    if isinstance(value, bool):
        return value or None
    if value is None and all_at(document[0], path_steps(path) or ()) not in ([], [None]):
        raise OtherJsonValueFailure(path)
    if isinstance(value, str) and result.element is not None:
        return _elements(value, result.element)
    return cast_value(value, STRING, result)


def _elements(text: str, type_: SqlType) -> tuple[Value, ...]:
    """Return the elements of an array, cast: of a string its text, of an array or object its JSON.

    Raises:
        RowFailure: E502 to E504.
    """
    found = document_of(text)
    if found is None or not isinstance(found[0], list):
        raise UnreadableTextFailure(text, "JSON ARRAY")
    texts = (
        write_document(each) if isinstance(each, dict | list) else plain_text(each)
        for each in found[0]
    )
    return tuple(cast_value(each, STRING, type_) for each in texts)


def _or(
    find: Callable[[str, str], Value], result: SqlType, text: str | None, path: str, *values: Value
) -> Value:
    on_empty, on_error = values
    return _or_fail(find, result, text, path, KEEP, KEEP, on_empty, on_error)


def _or_fail(  # noqa: PLR0913, PLR0917 - those of a call
    find: Callable[[str, str], Value],
    result: SqlType,
    text: str | None,
    path: str,
    empty: str,
    error: str,
    on_empty: Value,
    on_error: Value,
) -> Value:
    if text is None:
        return None
    try:
        value = _found(find, result, text, path)
    except RowFailure:
        if error == FAIL:
            raise
        return on_error
    if value is None:
        if empty == FAIL:
            raise NoJsonValueFailure(path)
        return on_empty
    return value


def _match(
    find: Callable[[str, str], Value], types: tuple[SqlType, ...], *, fails: bool
) -> Match | None:
    """Return the signature for a type of the result, which is that of the last arguments."""
    texts = (STRING,) * (4 if fails else 2)
    result = types[-1]
    wanted = (*texts, result, result)
    given = tuple(
        STRING if each.kind is Kind.NULL and index < len(texts) else each
        for index, each in enumerate(types)
    )
    element = result.element if result.kind is Kind.ARRAY else None
    scalar_type = element or result
    if given != wanted or scalar_type.parts or not castable(STRING, scalar_type):
        return None
    scalar = partial(_or_fail if fails else _or, find, result)
    return Match(Signature(wanted, result, scalar, fallible=fails), wanted, result)


def _functions(name: str) -> tuple[Function, Function]:
    (plain,) = (each for each in JSON_FUNCTIONS if each.name == name)
    signature = next(each for each in plain.signatures if len(each.parameters) == 2)
    find, result = signature.scalar, signature.result
    made = (
        Function(
            f"{name}_or_fail" if fails else f"{name}_or",
            (),
            (
                Signature(
                    ((STRING,) * (4 if fails else 2)) + (result,) * 2, result, find, fallible=fails
                ),
            ),
            Nullability.ALWAYS,
            strict=False,
            literal_check=wild_path_error,
            literal_index=1,
            literal_word="path",
            of_types=partial(_match, find, fails=fails),
        )
        for fails in (False, True)
    )
    first, second = made
    return first, second


def _document(text: str) -> str:
    """Return a document, written as all are.

    Raises:
        RowFailure: E503.
    """
    found = document_of(text)
    if found is None:
        raise UnreadableTextFailure(text, "JSON")
    return write_document(found[0])


def _object_without_nulls(*parts: str | None) -> str:
    pairs = zip(parts[::2], parts[1::2], strict=False)
    kept = (part for key, value in pairs if value is not None for part in (key, value))
    return object_of(*kept)


JSON_CLAUSES: Final = (
    *(function for name in _OF for function in _functions(name)),
    json_builder("json_object_without_nulls", _object_without_nulls),
    Function("json_document", ("JSON",), (Signature((STRING,), STRING, _document, fallible=True),)),
)
"""The functions; those with clauses have no name in SQL."""

QUERIES: Final = frozenset(
    f"{name}_{end}" for name in _OF if name.startswith("json_query") for end in ("or", "or_fail")
)
"""Those whose result is a document, unless it is an array."""
