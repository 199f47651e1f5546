"""JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_RECORDS, by JSON of Python."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from fsql.compiler.sqltypes import STRING, Kind
from fsql.tests.reference.failure import NOT_CASTABLE, FailureError
from fsql.tests.reference.lines import json_text
from fsql.tests.reference.scalar_casts import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_MISSING = object()


class Number(str):
    """A number as it is written."""

    __slots__ = ()


def refuse(_constant: str) -> NoReturn:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError


def parsed(text: str) -> Any:
    """Return a document, with its numbers as written.

    Raises:
        FailureError: the text is not JSON.
    """
    try:
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse)
    except ValueError:
        raise FailureError(NOT_CASTABLE) from None


def written(value: Any) -> str:
    """Return a document as text, without spaces."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{written(k)}:{written(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def text_of(value: Any) -> str | None:
    """Return what JSON_VALUE gives of a value; a document inside is its JSON."""
    if value is None:
        return None
    if isinstance(value, str) and not isinstance(value, Number):
        return value
    return written(value)


def at_path(document: Any, path: str) -> Any:
    """Return the value at a path of keys and indexes."""
    for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        try:
            if not isinstance(document, dict if key else list):
                return _MISSING
            document = document[key] if key else document[int(index)]
        except LookupError:
            return _MISSING
    return document


def found_by(function: str, document: Any, path: str) -> Value:
    """Return what a function without clauses finds, None if there is nothing."""
    found = all_at_path(document, path)
    if function == "json_exists":
        return bool(found) or None
    nested = len(found) == 1 and isinstance(found[0], list | dict)
    if function == "json_value":
        return text_of(found[0]) if len(found) == 1 and not nested else None
    if function == "json_query" or (nested and function.endswith("needed")):
        return written(found[0]) if nested else None
    return written(found) if found else None


def all_at_path(document: Any, path: str) -> list[Any]:
    """Return the values at a path that may end with `[*]`."""
    value = at_path(document, path.removesuffix("[*]"))
    if path.endswith("[*]"):
        return value if isinstance(value, list) else []
    return [] if value is _MISSING else [value]


def fitting(function: str, document: Any, path: str) -> Value:
    """Return what a function without clauses finds, None if there is nothing or null.

    Raises:
        FailureError: there is something that it does not find, or a strict path leads to nothing.
    """
    found = all_at_path(document, path)
    value = found_by(function, document, path)
    fits = [None] if found or path.startswith("strict ") else []
    if value is None and found != fits:
        raise FailureError(NOT_CASTABLE)
    return value


def elements(text: str, type_: SqlType) -> tuple[Value, ...]:
    """Return the elements of an array, cast to a type.

    Raises:
        FailureError: it is no array, or an element has no such value.
    """
    items = parsed(text)
    if not isinstance(items, list):
        raise FailureError(NOT_CASTABLE)
    texts = map(text_of, items)
    return tuple(None if each is None else cast(each, STRING, type_) for each in texts)


def with_clauses(name: str, values: list[Any], result: SqlType) -> Value:
    """Return the value of a function whose name ends with `_or` or `_or_fail`.

    Raises:
        FailureError: there is no value, and a clause says that the row fails.
    """
    function, _, end = name.partition("_or")
    text, path = values[:2]
    fails = values[2:4] if end else ["KEEP", "KEEP"]
    on_empty, on_error = values[-2:]
    if text is None:
        return None
    try:
        value = fitting(function, parsed(text), path)
        if isinstance(value, str) and result.kind is Kind.ARRAY and result.element is not None:
            value = elements(value, result.element)
        elif isinstance(value, str):
            value = cast(value, STRING, result)
    except FailureError:
        if fails[1] == "FAIL":
            raise
        return on_error
    if value is None:
        if fails[0] == "FAIL":
            raise FailureError(NOT_CASTABLE)
        return on_empty
    return value


def pairs(*parts: str | None, nulls: bool = True) -> str:
    """Return an object of the keys that are not NULL, and with `nulls` of the documents that are not."""
    each = [parts[at : at + 2] for at in range(0, len(parts) - 1, 2)]
    kept = [
        f"{json.dumps(key, ensure_ascii=False)}:{value or 'null'}"
        for key, value in each
        if key is not None and (nulls or value is not None)
    ]
    return "{" + ",".join(kept) + "}"


def records_of_json(text: str) -> tuple[tuple[str, str], ...] | None:
    """Return the keys of an object and their values as texts, by key; NULL of other documents."""
    try:
        document = parsed(text)
    except FailureError:
        return None
    if not isinstance(document, dict):
        return None
    return tuple((key, written(value)) for key, value in sorted(document.items()))


def at_steps(text: str, steps: tuple[str, ...]) -> Any:
    """Return the value at the end of keys and indexes, `_MISSING` if there is none."""
    try:
        value = parsed(text)
    except FailureError:
        return _MISSING
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and step.isascii() and step.isdecimal():
            value = value[int(step)] if int(step) < len(value) else _MISSING
        else:
            return _MISSING
    return value


def json_extract_path(text: str, *steps: str) -> str | None:
    """Return the value at the end of the steps as JSON."""
    found = at_steps(text, steps)
    return None if found is _MISSING else written(found)


def json_extract(text: str, path: str) -> str | None:
    """Return what is at a path of JSON, NULL if the path has a wildcard."""
    return None if "*" in path else json_extract_path(text, *re.findall(r"\w+", path))


def json_extract_path_text(text: str, *steps: str) -> str | None:
    """Return the value at the end of the steps as a text."""
    found = at_steps(text, steps)
    return None if found is _MISSING else text_of(found)


def text_of_documents(parts: Sequence[Any], type_: SqlType) -> str:
    """Return an array, or a map, of documents as one document."""
    texts = ["null" if part is None else part for part in parts]
    if type_.kind is Kind.ARRAY:
        return "[" + ",".join(texts) + "]"
    whole = []
    for key, value in parts:
        name = json_text(key, type_.key)
        name = name if name.startswith('"') else f'"{name}"'
        whole.append(name + ":" + ("null" if value is None else value))
    return "{" + ",".join(whole) + "}"


JSON_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "json_extract": json_extract,
    "json_extract_path": json_extract_path,
    "json_extract_path_text": json_extract_path_text,
}
"""The functions of parts of documents, by name."""
