"""Functions of JSON in texts.  A path is a literal, checked before the job runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.json_documents import (
    Document,
    all_at,
    document_of,
    fits,
    found_at,
    has_wildcard,
    kind_of,
    merge_patch,
    path_error,
    path_steps,
    plain_text,
    quote,
    wild_path_error,
    without_nulls,
    write_document,
)
from fsql.compiler.functions.json_values import documents_signature, json_signature
from fsql.compiler.functions.map_entries import map_of_entries
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, SqlType, array_of, map_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value


def _at(text: str, path: str) -> tuple[Document] | None:
    """Return what lies at a path of the text's document, in brackets; None if there is nothing."""
    document = document_of(text)
    steps = path_steps(path)
    assert steps is not None
    return found_at(document[0], steps) if document and fits(document[0], path) else None


def _all(text: str, path: str) -> list[Document] | None:
    """Return all values at a path of the text's document; None if it is not JSON, or is not strictly so."""
    document = document_of(text)
    steps = path_steps(path)
    assert steps is not None
    return all_at(document[0], steps) if document and fits(document[0], path) else None


def _value(text: str, path: str) -> str | None:
    found = _at(text, path)
    return None if found is None or isinstance(found[0], dict | list) else plain_text(found[0])


def _query(text: str, path: str = "$") -> str | None:
    found = _at(text, path)
    return write_document(found[0]) if found and isinstance(found[0], dict | list) else None


def _wrap(text: str, path: str) -> str | None:
    found = _all(text, path)
    return write_document(found) if found else None


def _wrap_if_needed(text: str, path: str) -> str | None:
    found = _all(text, path)
    one = found is not None and len(found) == 1 and isinstance(found[0], dict | list)
    return _query(text, path) if one else _wrap(text, path)


def _path_array(text: str, path: str) -> str | None:
    found = _all(text, path)
    return None if found is None else write_document(found)


def _path_first(text: str, path: str) -> str | None:
    found = _all(text, path)
    return write_document(found[0]) if found else None


def _extract(text: str, path: str) -> str | None:
    found = _at(text, path)
    return None if found is None else write_document(found[0])


def _extract_text(text: str, path: str) -> str | None:
    found = _at(text, path)
    return None if found is None else plain_text(found[0])


def _exists(text: str, path: str) -> bool:
    return bool(_all(text, path))


def _array_length(text: str, path: str = "$") -> int | None:
    found = _at(text, path)
    return len(found[0]) if found and isinstance(found[0], list) else None


def _keys(text: str, path: str = "$") -> tuple[str, ...] | None:
    found = _at(text, path)
    return tuple(found[0]) if found and isinstance(found[0], dict) else None


def _records(text: str) -> tuple[Value, ...] | None:
    """Return the map of the keys of an object and their values, each as JSON."""
    found = document_of(text)
    if found is None or not isinstance(found[0], dict):
        return None
    return map_of_entries((key, write_document(value)) for key, value in found[0].items())


def _items(text: str, path: str = "$") -> tuple[str, ...] | None:
    if has_wildcard(path_steps(path) or ()):
        all_found = _all(text, path)
        return None if all_found is None else tuple(map(write_document, all_found))
    found = _at(text, path)
    return tuple(map(write_document, found[0])) if found and isinstance(found[0], list) else None


def _typeof(text: str, path: str = "$") -> str | None:
    found = _at(text, path)
    return None if found is None else kind_of(found[0])


def _is_json(text: str, kind: str = "value") -> bool:
    document = document_of(text)
    if document is None:
        return False
    found = kind_of(document[0])
    return kind in {"value", found} or (kind == "scalar" and found not in {"object", "array"})


def _kind_error(kind: str) -> str | None:
    kinds = ("value", "object", "array", "scalar")
    return None if kind in kinds else f"a kind of JSON is {', '.join(kinds)}"


def _unquote(text: str) -> str | None:
    document = document_of(text)
    return document[0] if document and kind_of(document[0]) == "string" else text  # type: ignore[return-value]


def _follow_steps(text: str, *steps: str) -> tuple[Document] | None:
    """Return what lies at the steps, each a key, or an index where the document has an array."""
    found = document_of(text)
    for step in steps:
        if found is None:
            return None
        digits = step.removeprefix("-")
        index = digits.isascii() and digits.isdigit() and isinstance(found[0], list)
        found = found_at(found[0], (int(step[:10]) if index else step,))
    return found


def _path(text: str, *steps: str) -> str | None:
    found = _follow_steps(text, *steps)
    return None if found is None else write_document(found[0])


def _path_text(text: str, *steps: str) -> str | None:
    found = _follow_steps(text, *steps)
    return None if found is None else plain_text(found[0])


def _get(text: str, step: str | int) -> tuple[Document] | None:
    document = document_of(text)
    return None if document is None else found_at(document[0], (step,))


def _get_json(text: str, step: str | int) -> str | None:
    found = _get(text, step)
    return None if found is None else write_document(found[0])


def _get_text(text: str, step: str | int) -> str | None:
    found = _get(text, step)
    return None if found is None else plain_text(found[0])


def _on_documents(change: Callable[..., Document]) -> Callable[..., str | None]:
    """Return the function of texts that is a function of their documents."""

    def compute(*texts: str) -> str | None:
        documents = [document_of(text) for text in texts]
        if any(document is None for document in documents):
            return None
        return write_document(change(*(document[0] for document in documents if document)))

    return compute


def _array_contains(text: str, wanted: Value) -> bool | None:
    """Return whether the array has a scalar: a number that is written alike, a string, or a boolean."""
    document = document_of(text)
    if document is None or not isinstance(document[0], list):
        return None
    if isinstance(wanted, str):
        return any(kind_of(each) == "string" and each == wanted for each in document[0])
    if isinstance(wanted, bool):
        return any(each is wanted for each in document[0])
    return any(kind_of(each) == "number" and each == str(wanted) for each in document[0])


def object_of(*parts: str | None) -> str:
    """Return the object of keys and documents by turns, without pairs whose key is NULL."""
    pairs = zip(parts[::2], parts[1::2], strict=False)
    made = (f"{quote(key)}:{value or 'null'}" for key, value in pairs if key is not None)
    return f"{{{','.join(made)}}}"


def _array(*parts: str | None) -> str:
    return f"[{','.join(part for part in parts if part is not None)}]"


def _build_array(*parts: str | None) -> str:
    return f"[{','.join(part or 'null' for part in parts)}]"


_TEXT: Final = (STRING,)
_TWO: Final = (STRING, STRING)

_WILD: Final = frozenset(
    {
        *("json_value", "json_exists", "json_query", "json_items", "json_path_query_array"),
        *("json_query_wrapped", "json_query_wrapped_if_needed", "json_path_query_first"),
    }
)
"""The functions whose paths may have wildcards."""


def _value_function(
    name: str, others: tuple[str, ...], result: SqlType, scalar: Callable[..., Value]
) -> Function:
    signature = Signature(_TWO, result, scalar)
    nullability = Nullability.ANY_ARGUMENT if result == BOOLEAN else Nullability.ALWAYS
    return _path_function(name, others, (signature,), nullability)


def _with_path(
    name: str, others: tuple[str, ...], result: SqlType, scalar: Callable[..., Value]
) -> Function:
    """Return a function of a document, or of what lies at a path of it."""
    signatures = (Signature(_TEXT, result, scalar), Signature(_TWO, result, scalar))
    return _path_function(name, others, signatures, Nullability.ALWAYS)


def _path_function(
    name: str, others: tuple[str, ...], signatures: tuple[Signature, ...], nullability: Nullability
) -> Function:
    return Function(
        name,
        (name.upper(), *others),
        signatures,
        nullability,
        literal_check=wild_path_error if name in _WILD else path_error,
        literal_index=1,
        literal_word="path",
    )


def _text_function(name: str, signature: Signature, *others: str) -> Function:
    return Function(name, (name.upper(), *others), (signature,), Nullability.ALWAYS)


def json_builder(name: str, scalar: Callable[..., str], *others: str) -> Function:
    """Return a function that makes a document of the documents that its arguments are."""
    return Function(
        name,
        (name.upper(), *others),
        (Signature(_TEXT, STRING, scalar, variadic=True), Signature((), STRING, scalar)),
        Nullability.NEVER,
        strict=False,
    )


DOCUMENTS: Final = frozenset(
    {
        *(
            "json_string",
            "json_of_documents",
            "json_object",
            "json_array",
            "json_build_array",
            "json_query",
        ),
        *("json_extract", "json_merge_patch", "json_strip_nulls", "json_extract_path"),
        *("json_quote", "json_document"),
        *("json_get", "json_query_wrapped", "json_query_wrapped_if_needed"),
        *("json_path_query_array", "json_path_query_first", "json_object_without_nulls"),
    }
)
"""The functions whose results are documents: as values of JSON_OBJECT they are not quoted."""

BUILDERS: Final = frozenset(
    {"json_object", "json_object_without_nulls", "json_array", "json_build_array"}
)
"""The functions that make a document of values."""

JSON_FUNCTIONS: Final = (
    _value_function("json_value", (), STRING, _value),
    _value_function("json_extract", (), STRING, _extract),
    _value_function(
        "json_extract_string", ("EXTRACTJSONFIELD", "GET_JSON_OBJECT"), STRING, _extract_text
    ),
    _value_function("json_exists", ("JSONB_PATH_EXISTS",), BOOLEAN, _exists),
    _value_function("json_query_wrapped", (), STRING, _wrap),
    _value_function("json_query_wrapped_if_needed", (), STRING, _wrap_if_needed),
    _value_function("json_path_query_array", ("JSONB_PATH_QUERY_ARRAY",), STRING, _path_array),
    _value_function("json_path_query_first", ("JSONB_PATH_QUERY_FIRST",), STRING, _path_first),
    _with_path("json_query", (), STRING, _query),
    _with_path("json_array_length", ("JSONB_ARRAY_LENGTH",), BIGINT, _array_length),
    _with_path("json_keys", ("JSON_OBJECT_KEYS", "JSONB_OBJECT_KEYS"), array_of(STRING), _keys),
    _with_path("json_items", (), array_of(STRING), _items),
    _text_function("json_records", Signature(_TEXT, map_of(STRING, STRING), _records)),
    _with_path("json_typeof", ("JSONB_TYPEOF",), STRING, _typeof),
    Function("json_valid", ("JSON_VALID",), (Signature(_TEXT, BOOLEAN, _is_json),)),
    Function(
        "is_json",
        ("IS_JSON",),
        (Signature(_TWO, BOOLEAN, _is_json),),
        literal_check=_kind_error,
        literal_index=1,
        literal_word="kind",
    ),
    Function("json_quote", ("JSON_QUOTE",), (Signature(_TEXT, STRING, quote),)),
    _text_function("json_unquote", Signature(_TEXT, STRING, _unquote)),
    _text_function(
        "json_extract_path", Signature(_TWO, STRING, _path, variadic=True), "JSONB_EXTRACT_PATH"
    ),
    _text_function(
        "json_extract_path_text",
        Signature(_TWO, STRING, _path_text, variadic=True),
        "JSONB_EXTRACT_PATH_TEXT",
    ),
    *(
        Function(
            name,
            (name.upper(),),
            (Signature(_TWO, STRING, scalar), Signature((STRING, BIGINT), STRING, scalar)),
            Nullability.ALWAYS,
        )
        for name, scalar in (("json_get", _get_json), ("json_get_text", _get_text))
    ),
    _text_function("json_merge_patch", Signature(_TWO, STRING, _on_documents(merge_patch))),
    _text_function(
        "json_strip_nulls",
        Signature(_TEXT, STRING, _on_documents(without_nulls)),
        "JSONB_STRIP_NULLS",
    ),
    Function(
        "json_array_contains",
        ("JSON_ARRAY_CONTAINS",),
        tuple(
            Signature((STRING, type_), BOOLEAN, _array_contains)
            for type_ in (STRING, BOOLEAN, BIGINT)
        ),
        Nullability.ALWAYS,
    ),
    Function(
        "json_string",
        ("JSON_STRING", "TO_JSON_STRING", "TO_JSON", "TO_JSONB", "ROW_TO_JSON", "ARRAY_TO_JSON"),
        (Signature(_TEXT, STRING, quote),),
        of_types=json_signature,
    ),
    Function(
        "json_of_documents",
        (),
        (Signature((array_of(STRING),), STRING, lambda parts: parts),),
        of_types=documents_signature,
    ),
    json_builder("json_object", object_of, "JSON_BUILD_OBJECT", "JSONB_BUILD_OBJECT"),
    json_builder("json_array", _array),
    json_builder("json_build_array", _build_array, "JSONB_BUILD_ARRAY"),
)
