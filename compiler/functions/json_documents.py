"""JSON in texts: reading it strictly, paths into it, and writing it in one form.

A document keeps numbers as they are written and the order of its keys; of a key that occurs twice the last
value is kept.  It is written without spaces, with only `"`, the backslash and control characters escaped.
"""

from __future__ import annotations

import enum
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

DEPTH_MAX: Final = 200
"""The greatest depth of objects and arrays."""
PATH_LENGTH_MAX: Final = 1_000

_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class Number(str):
    """A number, as it is written."""

    __slots__ = ()


Document = dict[str, Any] | list[Any] | Number | str | bool | None
"""A JSON value in Python."""


class NotJsonError(ValueError):
    """The text is not JSON."""


def _no_constant(name: str) -> None:
    raise NotJsonError(name)


_DECODER: Final = json.JSONDecoder(
    parse_float=Number, parse_int=Number, parse_constant=_no_constant, strict=True
)


def _depth(text: str) -> int:
    deepest = depth = 0
    for opened, closed in _BRACKETS.findall(text):
        depth += bool(opened) - bool(closed)
        deepest = max(deepest, depth)
    return deepest


def read_document(text: str) -> Document:
    """Return the value that a text is.

    Raises:
        NotJsonError: it is not JSON, nests too deep, or has half a pair of surrogates.
    """
    if text.count("[") + text.count("{") > DEPTH_MAX and _depth(text) > DEPTH_MAX:
        raise NotJsonError(text)
    try:
        document: Document = _DECODER.decode(text)
        if _SURROGATE.search(text):
            write_document(document).encode()
    except (ValueError, RecursionError):
        raise NotJsonError(text) from None
    return document


def document_of(text: str) -> tuple[Document] | None:
    """Return the value that a text is, in brackets; None if it is not JSON."""
    try:
        return (read_document(text),)
    except NotJsonError:
        return None


def write_document(document: Document) -> str:
    """Return a value as text."""
    match document:
        case None:
            return "null"
        case bool():
            return "true" if document else "false"
        case Number():
            return str(document)
        case str():
            return quote(document)
        case list():
            return f"[{','.join(map(write_document, document))}]"
        case _:
            pairs = (f"{quote(key)}:{write_document(value)}" for key, value in document.items())
            return f"{{{','.join(pairs)}}}"


def quote(text: str) -> str:
    """Return a text as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def plain_text(document: Document) -> str | None:
    """Return a string without its quotes, NULL for null, and all others as JSON."""
    if document is None:
        return None
    return str(document) if isinstance(document, str) else write_document(document)


class Wildcard(enum.Enum):
    """A step of a path that may lead to many values."""

    MEMBERS = ".*"
    ELEMENTS = "[*]"


Step = str | int | Wildcard


def kind_of(document: Document) -> str:
    """Return what a document is."""
    match document:
        case None:
            return "null"
        case bool():
            return "boolean"
        case Number():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


_STEP: Final = re.compile(
    r"""\.(?P<name>[A-Za-z_\u0080-\U0010ffff][\w$-]*)|\."(?P<quoted>(?:[^"\\]|\\.)*)"
    |\.?\['(?P<single>[^']*)'\]|\.?\["(?P<double>(?:[^"\\]|\\.)*)"\]|\[(?P<index>\d{1,9})\]
    |(?P<wildcard>\.\*|\[\*\])""",
    re.VERBOSE,
)


_STRICT: Final = "strict "


@lru_cache(maxsize=256)
def path_steps(path: str) -> tuple[Step, ...] | None:
    """Return the names, indexes and wildcards of a path; None if it is none."""
    mode = next((each for each in ("lax ", _STRICT) if path.startswith(each)), "")
    text = path.removeprefix(mode).strip(" ")
    if not text.startswith("$") or len(path) > PATH_LENGTH_MAX:
        return None
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        kind, value = found.lastgroup, found[found.lastgroup or 0]
        if kind == "index":
            steps.append(int(value))
        elif kind == "wildcard":
            steps.append(Wildcard(value))
        elif kind in {"quoted", "double"}:
            name = document_of(f'"{value}"')
            if name is None or not isinstance(name[0], str):
                return None
            steps.append(name[0])
        else:
            steps.append(value)
        at = found.end()
    return tuple(steps)


def fits(document: Document, path: str) -> bool:
    """Return whether each step of a path has a value, which a path that begins with `strict ` requires."""
    if not path.startswith(_STRICT):
        return True
    found = [document]
    for step in path_steps(path) or ():
        wanted = list if step is Wildcard.ELEMENTS else dict
        if isinstance(step, Wildcard):
            if not all(isinstance(each, wanted) for each in found):
                return False
        elif any(found_at(each, (step,)) is None for each in found):
            return False
        found = all_of(found, step)
    return True


def wild_path_error(path: str) -> str | None:
    """Return what is wrong with a path, or None."""
    if path_steps(path) is not None:
        return None
    return "a path is $ with steps such as .name, .\"a name\", ['a name'], [0], [*] and .*"


def path_error(path: str) -> str | None:
    """Return what is wrong with a path that must not have wildcards, or None."""
    if has_wildcard(path_steps(path) or ()):
        return "a path with wildcards is for JSON_QUERY, JSON_VALUE, JSON_EXISTS and JSON_ITEMS"
    return wild_path_error(path)


def has_wildcard(steps: Sequence[Step]) -> bool:
    """Return whether a path may lead to many values."""
    return any(isinstance(step, Wildcard) for step in steps)


def found_at(document: Document, steps: Sequence[Step]) -> tuple[Document] | None:
    """Return what lies at a path, in brackets; None if there is nothing, or several values."""
    if has_wildcard(steps):
        found = all_at(document, steps)
        return (found[0],) if len(found) == 1 else None
    for step in steps:
        if isinstance(step, str):
            if not isinstance(document, dict) or step not in document:
                return None
            document = document[step]
        else:
            assert isinstance(step, int)
            if not isinstance(document, list) or not -len(document) <= step < len(document):
                return None
            document = document[step]
    return (document,)


def all_at(document: Document, steps: Sequence[Step]) -> list[Document]:
    """Return all values at a path, in the order of the document."""
    found: list[Document] = [document]
    for step in steps:
        found = all_of(found, step)
    return found


def all_of(found: Sequence[Document], step: Step) -> list[Document]:
    """Return what a step leads to from each of several values."""
    if step is Wildcard.ELEMENTS:
        return [part for each in found if isinstance(each, list) for part in each]
    if step is Wildcard.MEMBERS:
        return [part for each in found if isinstance(each, dict) for part in each.values()]
    parts = [found_at(each, (step,)) for each in found]
    return [part[0] for part in parts if part is not None]


def merge_patch(target: Document, patch: Document) -> Document:
    """Return a document changed by a merge patch, after RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merge_patch(made.get(key), value)
    return made


def without_nulls(document: Document) -> Document:
    """Return a document without the keys whose value is null, at any depth."""
    if isinstance(document, list):
        return [without_nulls(each) for each in document]
    if isinstance(document, dict):
        return {k: without_nulls(v) for k, v in document.items() if v is not None}
    return document
