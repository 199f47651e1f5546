r"""LIKE: `%` stands for any text, `_` for one character, `\` takes the next character as it is.

Most patterns are a piece of text with a `%` before or behind, for which Arrow has searches that are
several times faster than a regular expression; the others become one for RE2.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

_REGEX: Final = {"%": ".*", "_": "."}


def _tokens(pattern: str) -> list[tuple[str, bool]]:
    """Return the pattern's parts: (`%` or `_`, True) for wildcards, (text, False) between them."""
    tokens: list[tuple[str, bool]] = []
    characters = iter(pattern)
    for character in characters:
        if character in _REGEX:
            tokens.append((character, True))
            continue
        text = next(characters, "\\") if character == "\\" else character
        if tokens and not tokens[-1][1]:
            text = tokens.pop()[0] + text
        tokens.append((text, False))
    return tokens


@lru_cache(maxsize=256)
def like_matcher(pattern: str) -> Callable[[pa.StringArray], pa.BooleanArray]:
    """Return the function from a column to which of its values match `pattern`; NULL stays NULL."""
    tokens = _tokens(pattern)
    match tokens:
        case []:
            return lambda strings: pc.equal(strings, "")
        case [(text, False)]:
            return lambda strings: pc.equal(strings, text)
        case [(text, False), ("%", True)]:
            return lambda strings: pc.starts_with(strings, text)
        case [("%", True), (text, False)]:
            return lambda strings: pc.ends_with(strings, text)
        case [("%", True), (text, False), ("%", True)]:
            return lambda strings: pc.match_substring(strings, text)
        case _:
            return _regex_matcher(tokens)


def _regex_matcher(tokens: list[tuple[str, bool]]) -> Callable[[pa.StringArray], pa.BooleanArray]:
    parts = [_REGEX[text] if wildcard else re.escape(text) for text, wildcard in tokens]
    regex = rf"(?s)\A{''.join(parts)}\z"
    return lambda strings: pc.match_substring_regex(strings, regex)
