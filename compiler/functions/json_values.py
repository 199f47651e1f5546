"""JSON_STRING: values of any type as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.functions.casts import cast_value, castable
from fsql.compiler.functions.json_documents import quote
from fsql.compiler.functions.octets import base64_of
from fsql.compiler.functions.signature import Match, Signature
from fsql.compiler.sqltypes import STRING, Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.expression import Value

_PLAIN: Final = frozenset({Kind.BOOLEAN, Kind.INTERVAL})


def _json_of(value: Value, type_: SqlType) -> str:
    """Return a value as JSON: as in the output, but NaN and infinities are null."""
    if value is None:
        return "null"
    if type_.kind is Kind.MAP:
        assert isinstance(value, tuple)
        return _json_of_map(value, type_)
    if type_.element is not None or type_.fields:
        assert isinstance(value, tuple)
        types = type_.field_types or type_.parts * len(value)
        parts = [_json_of(each, given) for each, given in zip(value, types, strict=True)]
        if type_.element is not None:
            return f"[{','.join(parts)}]"
        names = (quote(name) for name, _ in type_.fields)
        return f"{{{','.join(f'{n}:{p}' for n, p in zip(names, parts, strict=True))}}}"
    return _json_of_scalar(value, type_)


def _json_of_scalar(value: Value, type_: SqlType) -> str:
    if type_.kind is Kind.BYTES:
        assert isinstance(value, str)
        return quote(base64_of(value))
    text = value if type_ == STRING else cast_value(value, type_, STRING)
    assert isinstance(text, str)
    if type_.numeric:
        return text if text[-1].isdigit() else "null"
    return text if type_.kind in _PLAIN else quote(text)


def _json_of_map(entries: tuple[Any, ...], type_: SqlType) -> str:
    """Return a map as a JSON object, whose keys are the texts of its keys."""
    return _object_of(type_, ((key, _json_of(value, type_.value)) for key, value in entries))


def _object_of(type_: SqlType, entries: Iterable[tuple[Any, str]]) -> str:
    """Return an object of JSON from the keys of a map and their values as JSON."""
    parts = []
    for key, value in entries:
        text = key if type_.key == STRING else cast_value(key, type_.key, STRING)
        assert isinstance(text, str)
        parts.append(f"{quote(text)}:{value}")
    return f"{{{','.join(parts)}}}"


def json_signature(types: tuple[SqlType, ...]) -> Match | None:
    """Return the signature of JSON_STRING for a type."""
    (given,) = types if len(types) == 1 else (None,)
    if given is None or given.kind is Kind.NULL or not _writable(given):
        return None
    signature = Signature((given,), STRING, lambda value: _json_of(value, given))
    return Match(signature, (given,), STRING)


def documents_signature(types: tuple[SqlType, ...]) -> Match | None:
    """Return the signature that makes one document of an array, or of the values of a map, of documents."""
    (given,) = types if len(types) == 1 else (None,)
    if given is None or given.element is None:
        return None
    documents = given.value if given.kind is Kind.MAP else given.element
    if documents != STRING:
        return None

    def scalar(parts: tuple[Any, ...]) -> str:
        if given.kind is Kind.ARRAY:
            return f"[{','.join('null' if part is None else part for part in parts)}]"
        return _object_of(
            given, ((key, "null" if value is None else value) for key, value in parts)
        )

    return Match(Signature((given,), STRING, scalar), (given,), STRING)


def _writable(type_: SqlType) -> bool:
    return all(map(_writable, type_.parts)) if type_.parts else castable(type_, STRING)
