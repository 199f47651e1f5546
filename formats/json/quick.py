"""Parses a record with the standard library where the result is certainly that of `strict`.

That parser is many times faster, and keeps numbers as they are written.  What it may see differently is left
to `strict`: every error, half a pair of surrogates, and brackets that may be nested too deep.
"""

from __future__ import annotations

import json
import re
from typing import Final

from fsql.formats.json.strict import DEPTH_MAX, Json, Number, parse_object

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class _UncertainError(ValueError):
    """`strict` has to decide."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _UncertainError
    return made


def _refuse(_constant: str) -> None:
    """Refuse NaN and the infinities, which the standard library accepts."""
    raise _UncertainError


_DECODE: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Number, parse_float=Number, parse_constant=_refuse
).decode


def read_object(record: bytes) -> dict[str, Json]:
    """Return the object in the record, as `strict.parse_object` does.

    Raises:
        MalformedError: E511, E512, E515, E516 or E519.
    """
    if not _SURROGATE.search(record):
        try:
            value = _DECODE(record.decode())
        except (ValueError, RecursionError):
            pass
        else:
            brackets = record.count(b"[") + record.count(b"{")
            shallow = brackets <= DEPTH_MAX or not _is_deeper(value, DEPTH_MAX)
            if isinstance(value, dict) and shallow:
                return value
    return parse_object(record)


def _is_deeper(value: Json, depth: int) -> bool:
    """Return whether more than `depth` brackets are nested in a value."""
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list):
        inner = value
    else:
        return False
    return depth == 0 or any(_is_deeper(each, depth - 1) for each in inner)
