"""Source text and spans in it.

A `Span` is a half-open range `[start, end)` of code points in a `SourceText`; lines and columns are
derived only where a person reads them, and both count from 1.  Every record of `syntax` and every
label of a diagnostic has a span, always in the text as its author wrote it: before parameters
are replaced, and with its line ends as they were.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
"""What ends a line: not the form feeds and separators at which `str.splitlines` splits as well."""

_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Characters that Unicode counts as letters or marks and that show nothing."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The code points `[start, end)` of a text; empty where something is missing at `start`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        assert 0 <= self.start <= self.end

    def to(self, other: Span) -> Span:
        """Return the least span that covers this one and `other`."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class SourceText:
    """A text and the name by which its author knows it: a path, or `<stdin>`."""

    name: str
    text: str

    @cached_property
    def line_spans(self) -> tuple[Span, ...]:
        """Return the span of each line without its end; there is at least one line."""
        spans = []
        start = 0
        for end in _LINE_END.finditer(self.text):
            spans.append(Span(start, end.start()))
            start = end.end()
        return (*spans, Span(start, len(self.text)))

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return line and column of `offset`, both from 1; the column counts code points."""
        line_index = bisect.bisect_right(self.line_spans, offset, key=lambda span: span.start) - 1
        return line_index + 1, offset - self.line_spans[line_index].start + 1

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its end."""
        return self.slice(self.line_spans[number - 1])

    def slice(self, span: Span) -> str:
        """Return the text of `span`."""
        return self.text[span.start : span.end]


def is_visible(character: str) -> bool:
    """Return whether `character` is visible, or a space between words."""
    return character.isprintable() and character not in _BLANK_LETTERS
