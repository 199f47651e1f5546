"""The text of an object or an array that is the value of a STRING: JSON in one canonical form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from fsql.formats.json.strict import Number

if TYPE_CHECKING:
    from fsql.formats.json.strict import Json

_WORDS: Final = {None: "null", True: "true", False: "false"}
_QUOTE: Final = json.JSONEncoder(ensure_ascii=False).encode


def nested_text(value: Json) -> str:
    r"""Return a value as text, in the form in which functions of JSON write one.

    There are no spaces outside strings; keys have the order of the input, and numbers are as they are
    written.  In strings `"`, the backslash and control characters are escaped, each in its shortest form;
    all other characters are themselves.
    """
    if isinstance(value, str):
        return _QUOTE(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        pairs = [f"{_QUOTE(key)}:{nested_text(each)}" for key, each in value.items()]
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(nested_text, value))}]"
    return _WORDS[value]
