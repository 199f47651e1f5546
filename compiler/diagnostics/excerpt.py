"""The lines of source to which labels point, with the messages of the labels below.

A label on one line is underlined; a label over several lines is underlined on its first and its last line.
Lines in between without labels are left out.
"""

from __future__ import annotations

import itertools
import unicodedata
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.secrets import same_length_without_secrets
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import is_visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.compiler.diagnostics import Diagnostic, Label
    from fsql.compiler.text.source import SourceText

    Paint = Callable[[str, str], str]
    """Colours a text by its role: "primary", "secondary" or "gutter"."""

_LINE_MAX: Final = 120
"""The number of code points of a line that are shown, around its first label."""
_BEFORE: Final = 40
_TAB: Final = "    "


def visible(text: str) -> str:
    r"""Return `text` with each invisible character as a code, and tabs as spaces.

    >>> visible("a\tb\u202e")
    'a    b\\u202e'
    """
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character == "\t":
        return _TAB
    if is_visible(character):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _columns(text: str) -> int:
    """Return the number of terminal columns that `text` takes."""
    return sum(_character_columns(character) for character in visible(text))


def _character_columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass(frozen=True, slots=True)
class _Mark:
    """The part of one line that a label underlines: code points `[start, end)`, at least one wide."""

    start: int
    end: int
    message: str
    primary: bool

    @property
    def role(self) -> str:
        return "primary" if self.primary else "secondary"


def gutter_width(diagnostic: Diagnostic, source: SourceText) -> int:
    """Return the number of digits of the greatest line number in the excerpt."""
    labels = filter(None, (diagnostic.primary, *diagnostic.secondary))
    ends = [max(label.span.start, label.span.end - 1) for label in labels]
    return len(str(source.line_column(max(ends, default=0))[0]))


def excerpt(diagnostic: Diagnostic, source: SourceText, paint: Paint) -> list[str]:
    """Return the lines of the excerpt for `diagnostic`; no lines if it has no labels."""
    marks: dict[int, list[_Mark]] = {}
    for label in filter(None, (diagnostic.primary, *diagnostic.secondary)):
        for number, mark in _marks(label, source, primary=label is diagnostic.primary):
            marks.setdefault(number, []).append(mark)
    if not marks:
        return []
    width = gutter_width(diagnostic, source)
    lines = [paint("gutter", f"{'':{width}} |")]
    previous = min(marks)
    for number in sorted(marks):
        if number == previous + 2:
            lines += _line(number - 1, [], source, paint, width)
        elif number > previous + 2:
            lines.append(paint("gutter", "..."))
        lines += _line(number, marks[number], source, paint, width)
        previous = number
    return lines


def _marks(label: Label, source: SourceText, *, primary: bool) -> Iterator[tuple[int, _Mark]]:
    """Yield the lines that `label` underlines, and the underlined parts; its message is with the last one."""
    start, end = label.span.start, label.span.end
    first, first_column = source.line_column(start)
    last, last_column = source.line_column(max(start, end - 1))
    if first == last:
        column = first_column - 1
        yield first, _Mark(column, column + max(1, end - start), label.message, primary)
        return
    line = source.line(first)
    yield first, _Mark(first_column - 1, max(first_column, len(line)), "", primary)
    line = source.line(last)
    indent = min(len(line) - len(line.lstrip()), last_column - 1)
    yield last, _Mark(indent, last_column, label.message, primary)


def _line(
    number: int, marks: list[_Mark], source: SourceText, paint: Paint, width: int
) -> Iterator[str]:
    """Yield the line `number` and the rows below it."""
    line = same_length_without_secrets(source.line(number))
    offset = 0
    if len(line) > _LINE_MAX:
        offset = max(0, min((mark.start for mark in marks), default=0) - _BEFORE)
    shown = line[offset : offset + _LINE_MAX]
    before, after = "…" * (offset > 0), "…" * (offset + len(shown) < len(line))
    text = f"{before}{visible(shown)}{after}".rstrip()
    yield f"{paint('gutter', f'{number:>{width}} |')} {text}".rstrip()
    extents = sorted(
        (_extent_of(mark, shown, offset, len(before)) for mark in marks),
        key=lambda extent: extent[0],
    )
    gutter = paint("gutter", f"{'':{width}} |")
    for row in _rows(extents, paint):
        yield f"{gutter} {row}"


def _extent_of(mark: _Mark, shown: str, offset: int, before: int) -> tuple[int, int, _Mark]:
    """Return the columns `[start, end)` of `mark` below the part of its line that is shown."""
    start = min(max(mark.start - offset, 0), len(shown))
    end = min(max(mark.end - offset, start), len(shown))
    column = before + _columns(shown[:start])
    return column, column + max(1, _columns(shown[start:end])), mark


def _rows(extents: list[tuple[int, int, _Mark]], paint: Paint) -> Iterator[str]:
    """Yield the underlines with the last message next to them, then the other messages below.

    A message below is connected to the start of its underline by a bar.
    """
    if not extents:
        return
    _, _, last = extents[-1]
    message = visible(last.message)
    yield f"{_underlines(extents, paint)} {paint(last.role, message) if message else ''}".rstrip()
    hanging = [extent for extent in extents[:-1] if extent[2].message]
    while hanging:
        column, _, mark = hanging[-1]
        yield _bars(hanging, paint)
        bars = _bars([extent for extent in hanging[:-1] if extent[0] < column], paint)
        gap = column - max(
            (extent[0] + 1 for extent in hanging[:-1] if extent[0] < column), default=0
        )
        yield f"{bars}{'':{gap}}{paint(mark.role, visible(mark.message))}"
        hanging.pop()


def _underlines(extents: list[tuple[int, int, _Mark]], paint: Paint) -> str:
    roles = [""] * max(end for _, end, _ in extents)
    for start, end, mark in sorted(extents, key=lambda extent: extent[2].primary):
        roles[start:end] = [mark.role] * (end - start)
    return _row(roles, {"primary": "^", "secondary": "-"}, paint)


def _bars(extents: list[tuple[int, int, _Mark]], paint: Paint) -> str:
    roles = [""] * (max((extent[0] for extent in extents), default=-1) + 1)
    for start, _, mark in extents:
        roles[start] = mark.role
    return _row(roles, {"primary": "|", "secondary": "|"}, paint)


def _row(roles: list[str], signs: dict[str, str], paint: Paint) -> str:
    """Return a row with the sign of each column's role, a space for none."""
    runs = ((role, len(list(columns))) for role, columns in itertools.groupby(roles))
    return "".join(paint(role, signs[role] * n) if role else " " * n for role, n in runs)
