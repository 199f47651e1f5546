r"""LIKE: `%` matches any text, `_` one character, `\` makes the next character literal.

A pattern is cut at each `%` into segments.  The first must begin the text and the last must end it; each
of the others is taken where it first occurs after the previous one.  If that fails, so does every other
choice, and nothing has to be tried twice: the time is linear in the length of the text.

A `\` at the end of a pattern that is not constant is itself.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Final

from fsql.compiler.records import dataclass

PATTERN_LENGTH_MAX: Final = 10_000
"""The longest constant pattern, in characters: a segment with `_` takes space as their square."""


def like(text: str, pattern: str) -> bool:
    """Return whether the whole of `text` matches `pattern`."""
    first, *others = like_segments(pattern)
    if not first.matches_at(text, 0):
        return False
    if not others:
        return len(text) == first.length
    *middle, last = others
    start, end = first.length, len(text) - last.length
    if end < start or not last.matches_at(text, end):
        return False
    for segment in middle:
        start = segment.find_end(text, start, end)
        if start < 0:
            return False
    return True


def pattern_error(pattern: str) -> str | None:
    """Return the error in a pattern, or None."""
    escapes = len(pattern) - len(pattern.rstrip("\\"))
    if escapes % 2:
        return "LIKE pattern must not end with the escape character"
    if len(pattern) > PATTERN_LENGTH_MAX:
        return f"LIKE pattern is too long: {len(pattern):,} characters; the limit is {PATTERN_LENGTH_MAX:,}"
    return None


@lru_cache(maxsize=256)
def like_segments(pattern: str) -> tuple[LikeSegment, ...]:
    """Return the segments of a pattern: one more than it has `%`."""
    segments: list[list[str | None]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            segments.append([])
        elif character == "_":
            segments[-1].append(None)
        else:
            segments[-1].append(next(characters, "\\") if character == "\\" else character)
    return tuple(LikeSegment(tuple(segment)) for segment in segments)


@dataclass(frozen=True)
class LikeSegment:
    """A part of a pattern without `%`: characters, None for any one character."""

    characters: tuple[str | None, ...]

    @property
    def length(self) -> int:
        """Return the number of characters that the segment matches."""
        return len(self.characters)

    @cached_property
    def text(self) -> str | None:
        """Return the only text that the segment matches; None if it has a `_`."""
        literals = [character for character in self.characters if character is not None]
        return "".join(literals) if len(literals) == self.length else None

    def matches_at(self, text: str, start: int) -> bool:
        """Return whether the segment matches the characters of `text` from `start` on."""
        if self.text is not None:
            return text.startswith(self.text, start)
        return start + self.length <= len(text) and all(
            expected is None or expected == text[i]
            for i, expected in enumerate(self.characters, start)
        )

    def find_end(self, text: str, start: int, end: int) -> int:
        """Return the end of the segment's first match within `text[start:end]`, -1 if there is none."""
        if self.text is not None:
            found = text.find(self.text, start, end)
            return found if found < 0 else found + self.length
        if end - start < self.length:
            return -1
        # The algorithm is Shift-And: bit i of `matched` is set if the i + 1 characters up to here match the
        # first i + 1 of the segment.
        allowed, allowed_for_others = self._allowed_positions
        whole = 1 << (self.length - 1)
        matched = 0
        for i in range(start, end):
            matched = (matched << 1 | 1) & allowed.get(text[i], allowed_for_others)
            if matched & whole:
                return i + 1
        return -1

    @cached_property
    def _allowed_positions(self) -> tuple[dict[str, int], int]:
        """Return the positions, as bits, at which each character is allowed, and those of all others."""
        anywhere = sum(1 << i for i, character in enumerate(self.characters) if character is None)
        allowed: dict[str, int] = {}
        for i, character in enumerate(self.characters):
            if character is not None:
                allowed[character] = allowed.get(character, anywhere) | 1 << i
        return allowed, anywhere
