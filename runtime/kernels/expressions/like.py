r"""LIKE over columns; `fsql.compiler.functions.like` defines it.

Most patterns are a text with a `%` before or after it, for which Arrow has functions that are several times
faster than a regular expression.  Other short patterns become a regular expression for RE2, whose time is
linear in the text.  RE2 is slow for long patterns and refuses very long ones; these are matched one value at
a time.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.like import like, like_segments

if TYPE_CHECKING:
    from collections.abc import Callable

_REGEX_LENGTH_MAX: Final = 256
"""The maximum length of a pattern that becomes a regular expression."""


@lru_cache(maxsize=256)
def like_matcher(pattern: str) -> Callable[[pa.StringArray], pa.BooleanArray]:
    """Return the function that computes which values of a column match `pattern`; NULL remains NULL."""
    match [segment.text for segment in like_segments(pattern)]:
        case [str(text)]:
            return lambda strings: pc.equal(strings, text)
        case [str(text), ""]:
            return lambda strings: pc.starts_with(strings, text)
        case ["", str(text)]:
            return lambda strings: pc.ends_with(strings, text)
        case ["", str(text), ""]:
            return lambda strings: pc.match_substring(strings, text)
        case _ if len(pattern) > _REGEX_LENGTH_MAX:
            return lambda strings: _match_each(strings, pattern)
        case _:
            regex = _regex(pattern)
            return lambda strings: pc.match_substring_regex(strings, regex)


def _regex(pattern: str) -> str:
    segments = [
        "".join(
            "." if character is None else re.escape(character) for character in segment.characters
        )
        for segment in like_segments(pattern)
    ]
    return rf"(?s)\A{'.*'.join(segments)}\z"


def _match_each(strings: pa.StringArray, pattern: str) -> pa.BooleanArray:
    values = strings.to_pylist()
    return pa.array([None if text is None else like(text, pattern) for text in values], pa.bool_())
