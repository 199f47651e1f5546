"""The layout of statements: each clause is on one line if it fits; otherwise its items are on lines below.

A query that fits on a line is on one. Brackets are broken if their content does not fit. The elements of
CREATE TABLE are always on separate lines.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.formatter.clauses import (
    BRANCH,
    case_end,
    clauses,
    is_query,
    item_splits,
    mark_branches,
    operand_splits,
    split_head,
)
from fsql.compiler.formatter.pieces import (
    Group,
    LayoutToken,
    group_brackets,
    read_pieces,
    token_texts,
)
from fsql.compiler.formatter.spacing import has_space, opens_with_space
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.formatter.pieces import Comment, Element

WIDTH: Final = 100
"""The maximum length of a line, unless one token is longer."""
_INDENT: Final = 4


def format_script(source: SourceText) -> str:
    """Return a script in the standard layout: its tokens and comments are the same, in the same order.

    Raises:
        FsqlError: E1xx, if the script has a syntax error.
    """
    pieces = read_pieces(source)
    writer = _Writer()
    statement: list[LayoutToken] = []
    for piece in pieces:
        if piece.kind == "SEMICOLON" or piece.text == ";":
            _write_statement(statement, piece, writer)
            statement = []
        else:
            statement.append(piece)
    *rest, end = statement
    if rest:
        _write_statement(rest, None, writer)
    writer.comments(end.comments, 0, at_end=True)
    text = writer.text()
    assert token_texts(source) == token_texts(SourceText(source.name, text)), "a token has changed"
    return text


@dataclass(slots=True)
class _Writer:
    """The lines written so far; `line` is the current one."""

    lines: list[str] = field(default_factory=list)
    line: str = ""
    ended: bool = False
    """Whether a comment ends the line, so that the next token begins another one."""
    before: LayoutToken | None = None

    def newline(self, indent: int) -> None:
        """Begin a line, unless the current one is empty."""
        if self.line.strip():
            self.lines.append(self.line.rstrip())
        self.line = " " * indent
        self.ended = False
        self.before = None

    def blank(self) -> None:
        """End the line, and add an empty one, unless this is the beginning."""
        self.newline(0)
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def comments(self, comments: Sequence[Comment], indent: int, *, at_end: bool = False) -> None:
        """Write comments at their places: on separate lines, or at the end of the preceding line."""
        for comment in comments:
            if comment.own_line:
                self.newline(indent)
                if comment.after_blank and indent == 0 and self.lines and self.lines[-1]:
                    self.lines.append("")
                self.line += comment.text
                self.ended = True
            else:
                if self.ended:
                    self.newline(indent)
                self.line += (" " if self.line.strip() else "") + comment.text
                self.ended = self.ended or comment.ends_line or at_end
                self.before = None

    def piece(self, piece: LayoutToken, indent: int) -> None:
        """Write a token and the comments before it."""
        self.comments(piece.comments, indent)
        if self.ended:
            self.newline(indent)
        spaced = has_space(self.before, piece) if self.before else piece.text not in {",", ")", ";"}
        self.line += (" " if spaced and self.line.strip() else "") + piece.text
        self.before = piece

    def next_line(self, elements: Sequence[Element], indent: int) -> None:
        """Begin a line for elements, after the comments that belong to the preceding line."""
        first = _first(elements[0])
        same_line = 0
        while same_line < len(first.comments) and not first.comments[same_line].own_line:
            same_line += 1
        if self.line.strip():
            self.comments(first.comments[:same_line], indent)
            first.comments = first.comments[same_line:]
        self.newline(indent)

    def text(self) -> str:
        """Return the whole text."""
        self.newline(0)
        return "\n".join(self.lines) + "\n" if self.lines else ""


def _write_statement(
    statement: list[LayoutToken], semicolon: LayoutToken | None, writer: _Writer
) -> None:
    if statement:
        leading = statement[0].comments
        trailing = (
            [each for each in leading if not each.own_line] if writer.lines or writer.line else []
        )
        if trailing and leading[: len(trailing)] == trailing:
            writer.comments(trailing, 0)  # after the preceding semicolon
            statement[0].comments = leading = leading[len(trailing) :]
        if not any(each.after_blank for each in leading[:1]):
            writer.blank()
        elif writer.line.strip():
            writer.newline(0)
        writer.comments(leading, 0)
        if leading and statement[0].after_blank:
            writer.blank()
        statement[0].comments = []
        _block(group_brackets(statement), 0, writer, reserve=1)
    if semicolon is not None:
        writer.piece(semicolon, 0)


def _flat(elements: Sequence[Element], before: LayoutToken | None = None) -> str | None:
    """Return elements on one line; None if they include a comment, or are the elements of a table."""
    text = ""
    for element in _pieces(elements):
        if element is None:
            return None
        if element.comments:
            return None
        if before is not None and has_space(before, element):
            text += " "
        text += element.text
        before = element
    return text


def _pieces(elements: Sequence[Element]) -> list[LayoutToken | None]:
    """Return the tokens of elements in order; None stands for a line break."""
    found: list[LayoutToken | None] = []
    for element in elements:
        if isinstance(element, LayoutToken):
            found.append(element)
        else:
            if "table_elements" in element.opening.rules:
                found.append(None)
            found += [element.opening, *_pieces(element.items), element.closing]
    return found


def _first(element: Element) -> LayoutToken:
    return element if isinstance(element, LayoutToken) else element.opening


def _block(elements: list[Element], indent: int, writer: _Writer, reserve: int = 0) -> None:
    """Write elements from the beginning of a line; `reserve` cells remain free at the end."""
    if not elements:
        return
    leading = _first(elements[0]).comments
    writer.comments(leading, indent)
    _first(elements[0]).comments = []
    writer.newline(indent)
    text = _flat(elements)
    parts = clauses(elements) if is_query(elements) else [elements]
    heads_only = len(parts) > 1 and _first(parts[0][0]).kind in {"INSERT", "CREATE", "EXPLAIN"}
    if text is not None and not heads_only and indent + len(text) + reserve <= WIDTH:
        _inline(elements, indent, writer)
    elif len(parts) > 1:
        if heads_only:
            _clause(parts[0], indent, writer, 0)
            _block([element for part in parts[1:] for element in part], indent, writer, reserve)
            return
        for number, part in enumerate(parts):
            writer.next_line(part, indent)
            _clause(part, indent, writer, reserve if number == len(parts) - 1 else 0)
    elif parts[0] is not elements or is_query(elements):
        _clause(elements, indent, writer, reserve)
    else:
        _items(elements, indent, writer, reserve)


def _clause(elements: list[Element], indent: int, writer: _Writer, reserve: int) -> None:
    """Write a clause: on one line, or its head with its items below."""
    leading = _first(elements[0]).comments
    if leading:
        writer.comments(leading, indent)
        _first(elements[0]).comments = []
        writer.newline(indent)
    text = _flat(elements)
    if text is not None and indent + len(text) + reserve <= WIDTH:
        _inline(elements, indent, writer)
        return
    head, rest = split_head(elements)
    _inline(head, indent, writer)
    kind = _first(head[0]).kind if head else ""
    if kind == "WITH":
        _inline(rest, indent, writer)
        return
    parts = (
        item_splits(rest) if kind not in {"WHERE", "HAVING", "QUALIFY"} else operand_splits(rest)
    )
    if len(parts) <= 1:
        _inline(rest, indent, writer)
        return
    for number, part in enumerate(parts):
        writer.next_line(part, indent + _INDENT)
        _inline(part, indent + _INDENT, writer, reserve if number == len(parts) - 1 else 0)


def _items(elements: list[Element], indent: int, writer: _Writer, reserve: int) -> None:
    """Write the content of brackets: one item on each line, or one operand if there is a single item."""
    parts = item_splits(elements)
    if len(parts) == 1:
        parts = operand_splits(elements)
    if all(
        len(part) <= 2 and all(isinstance(each, LayoutToken) for each in part) for part in parts
    ):
        _fill(parts, indent, writer)
        return
    for number, part in enumerate(parts):
        writer.next_line(part, indent)
        _inline(part, indent, writer, reserve if number == len(parts) - 1 else 0)


def _fill(parts: Sequence[list[Element]], indent: int, writer: _Writer) -> None:
    """Write short items, as many on each line as fit."""
    for part in parts:
        text = _flat(part)
        if text is None or len(writer.line) + 1 + len(text) > WIDTH:
            writer.next_line(part, indent)
        _inline(part, indent, writer)


def _inline(elements: Sequence[Element], indent: int, writer: _Writer, reserve: int = 0) -> None:
    """Write elements on the current line; brackets that do not fit are broken."""
    for number, element in enumerate(elements):
        if isinstance(element, LayoutToken):
            _break_before(element, elements[number:], indent, writer, reserve)
            writer.piece(element, indent + _INDENT if writer.ended else indent)
            continue
        _group(element, elements[number + 1 :], indent, writer, reserve)


def _break_before(
    piece: LayoutToken, rest: Sequence[Element], indent: int, writer: _Writer, reserve: int
) -> None:
    """Begin a line before a word that continues a long expression, if the rest does not fit."""
    room = WIDTH - len(writer.line) - 1 - reserve
    if piece.kind == "CASE":
        of_case = rest[: case_end(rest)]
        text = _flat(of_case)
        if text is None or len(text) > room:
            mark_branches(of_case)
    if piece.kind == "ON":
        text = _flat(rest)
        begins_line = text is None or len(text) > room
    else:
        begins_line = BRANCH in piece.rules
    if begins_line and writer.line.strip():
        writer.next_line([piece], indent if piece.kind == "END" else indent + _INDENT)


def _elements(elements: list[Element], indent: int, writer: _Writer) -> None:
    """Write the elements of a table, each on a line."""
    for part in item_splits(elements):
        writer.next_line(part, indent)
        _inline(part, indent, writer)


def _group(
    group: Group, after: Sequence[Element], indent: int, writer: _Writer, reserve: int
) -> None:
    opening = group.opening
    text = _flat([group])
    closing_room = len(_flat(after[:1]) or "") if after and isinstance(after[0], LayoutToken) else 0
    room = WIDTH - len(writer.line) - reserve - (closing_room if closing_room <= 1 else 0)
    spaced = int(opens_with_space(writer.before, opening))
    if text is not None and len(text) + spaced <= room and not writer.ended:
        for piece in _pieces([group]):
            assert piece is not None
            writer.piece(piece, indent)
        return
    writer.piece(opening, indent)
    if group.items:
        content = group.items
        if "table_elements" in opening.rules:
            _elements(content, indent + _INDENT, writer)
            content = []
        else:
            writer.next_line(content, indent + _INDENT)
        _block(content, indent + _INDENT, writer)
    writer.comments(group.closing.comments, indent + _INDENT)
    group.closing.comments = []
    writer.newline(indent)
    writer.piece(group.closing, indent)
