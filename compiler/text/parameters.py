"""Parameters: `${name}` in a script is replaced by text that is given when it is compiled.

The value replaces `${name}` as it is, so it can be a number, a name or a part of one.  Inside of quotes it
cannot end them: its quotes are doubled.  Comments are not changed, and a value is not searched for
further parameters.  Spans always lie in the text as it was written: whatever comes from a value lies
at its `${name}`.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.records import dataclass
from fsql.compiler.text.limits import TEXT_BYTES_MAX, utf8_bytes
from fsql.compiler.text.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fsql.compiler.text.source import SourceText

_PARAMETER: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_REGION: Final = re.compile(
    r"""(?s: --[^\r\n]*+ | /\*.*?(?:\*/|\Z)
      | (?P<quote>['"`]) .*? (?:(?P=quote)|\Z) | [^-/'"`]++ | . )""",
    re.VERBOSE,
)
"""A comment, a quoted text (a doubled quote ends one and begins the next), or what is neither."""

_SHOWN_MAX: Final = 60
"""The length up to which a note shows a value."""
_UNKNOWN_MAX: Final = 20
"""How many parameters without a value are reported."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """A parameter's value in the expanded text at `[start, end)`, and its `${name}` in the source.

    A value in quotes may be a secret, and cannot cause a syntax error: errors show only other values.
    """

    start: int
    end: int
    name: str
    value: str
    span: Span
    quoted: bool


@dataclass(frozen=True)
class ExpandedText:
    """The text with its parameters replaced; `insertions` in their order."""

    source: SourceText
    text: str
    insertions: tuple[Insertion, ...]

    def span(self, start: int, end: int) -> Span:
        """Return where `[start, end)` of the expanded text lies in the source."""
        if not self.insertions:
            return Span(start, end)
        source_start = self._source_span(start).start
        return Span(source_start, max(source_start, self._source_span(end, ends=True).end))

    def _source_span(self, offset: int, *, ends: bool = False) -> Span:
        """Return where `offset` is in the source: an empty span, or the parameter in whose value it lies."""
        find = bisect.bisect_left if ends else bisect.bisect_right
        index = find(self._starts, offset) - 1
        if index < 0:
            return Span(offset, offset)
        insertion = self.insertions[index]
        if offset < insertion.end or (ends and offset == insertion.end):
            return insertion.span
        source_offset = offset - insertion.end + insertion.span.end
        return Span(source_offset, source_offset)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(insertion.start for insertion in self.insertions)

    def error(self, diagnostic: Diagnostic) -> FsqlError:
        """Return the error of `diagnostic`, with a note on each parameter that its labels touch."""
        labels = (diagnostic.primary, *diagnostic.secondary)
        spans = [label.span for label in labels if label is not None]
        notes = [
            f"${{{insertion.name}}} is {_excerpt(insertion.value)}"
            for insertion in self.insertions
            if not insertion.quoted and any(_touch(span, insertion.span) for span in spans)
        ]
        noted = replace(diagnostic, notes=(*diagnostic.notes, *dict.fromkeys(notes)))
        return FsqlError([noted], self.source)


def _touch(span: Span, inserted: Span) -> bool:
    """Return whether the two share a character, or the empty `span` is right after `inserted`."""
    if span.start == span.end:
        return span.start == inserted.end
    return span.start < inserted.end and inserted.start < span.end


def expand(source: SourceText, parameters: Mapping[str, str]) -> ExpandedText:
    """Return the text of `source` with `parameters` replaced.

    Raises:
        FsqlError: E107 if the text is too long, E112 for each name without a value, up to 20.
    """
    _check_bytes(source, utf8_bytes(source.text[: TEXT_BYTES_MAX + 1]))
    pieces: list[str] = []
    insertions: list[Insertion] = []
    unknown: dict[str, Diagnostic] = {}
    done = length = 0
    for match, quote in _parameters_in(source.text):
        value = parameters.get(match[1])
        if value is None:
            if match[1] not in unknown:
                unknown[match[1]] = _unknown(match, parameters)
            if len(unknown) == _UNKNOWN_MAX:
                break
            continue
        before = source.text[done : match.start()]
        inserted = value.replace(quote, quote * 2) if quote else value
        start = length + len(before)
        span = Span(*match.span())
        end = start + len(inserted)
        insertions.append(Insertion(start, end, match[1], value, span, quoted=bool(quote)))
        pieces += before, inserted
        length = start + len(inserted)
        done = match.end()
        _check_bytes(source, length)
    if unknown:
        raise FsqlError(unknown.values(), source)
    text = "".join([*pieces, source.text[done:]])
    _check_bytes(source, utf8_bytes(text))
    return ExpandedText(source, text, tuple(insertions))


def _parameters_in(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each `${name}` outside of comments, with the quote that it is in, or ""."""
    if "${" not in text:
        return
    for region in _REGION.finditer(text):
        if not region[0].startswith(("--", "/*")):
            for match in _PARAMETER.finditer(text, *region.span()):
                yield match, region["quote"] or ""


def used_parameters(source: SourceText) -> tuple[str, ...]:
    """Return the names that occur as `${name}` in the script, in the order of their first occurrences."""
    return tuple(dict.fromkeys(match[1] for match, _ in _parameters_in(source.text)))


def parameter_uses(source: SourceText) -> list[tuple[str, Span]]:
    """Return each `${name}` outside of comments: the name, and the span of it all."""
    return [(match[1], Span(*match.span())) for match, _ in _parameters_in(source.text)]


def parameter_spans(source: SourceText) -> list[Span]:
    """Return where `${name}` occurs outside of quotes and comments."""
    return [Span(*match.span()) for match, quote in _parameters_in(source.text) if not quote]


def unused_parameters(
    sources: Iterable[SourceText], parameters: Mapping[str, str]
) -> list[Diagnostic]:
    """Return a warning (W101) for each parameter that none of the scripts has."""
    used = dict.fromkeys(name for each in sources for name in used_parameters(each))
    return [_unused_warning(name, used) for name in parameters if name not in used]


def _unused_warning(name: str, used: Iterable[str]) -> Diagnostic:
    near = near_name(name, used)
    helps = (f'a parameter with a similar name is in the script: "{near}"',) if near else ()
    return Diagnostic("W101", f'the parameter "{name}" is given and not used', helps=helps)


def _check_bytes(source: SourceText, size: int) -> None:
    if size > TEXT_BYTES_MAX:
        message = f"the script is longer than {TEXT_BYTES_MAX:,} bytes"
        raise FsqlError([Diagnostic("E107", message)], source)


def _unknown(match: re.Match[str], parameters: Mapping[str, str]) -> Diagnostic:
    near = near_name(match[1], parameters)
    helps = [f'a parameter with a similar name is given: "{near}"'] if near else []
    return Diagnostic(
        "E112",
        f'the parameter "{match[1]}" is not given',
        Label(Span(*match.span()), "has no value"),
        helps=(*helps, f"give it: -D {match[1]}=value"),
    )


def _excerpt(value: str) -> str:
    return f'"{value}"' if len(value) <= _SHOWN_MAX else f'"{value[:_SHOWN_MAX]}…"'
