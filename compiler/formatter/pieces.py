"""The pieces of a script for its layout: tokens with their kinds, comments, brackets.

A `${name}` outside of quotes has no value for the formatter. It is parsed as a name, as a number if no name
is allowed, or as space if neither is allowed, each of the same length, so that each token has its own text.
"""

from __future__ import annotations

import re
from dataclasses import field
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.parser.keywords import kind_at
from fsql.compiler.parser.lexer import tokenize
from fsql.compiler.parser.lookahead import Lookahead
from fsql.compiler.parser.parse_table import END, parse_table
from fsql.compiler.parser.record_stars import mark_record_stars
from fsql.compiler.parser.star_exceptions import mark_star_exceptions
from fsql.compiler.parser.stream_windows import mark_literal_types, mark_stream_windows
from fsql.compiler.parser.syntax_error import syntax_error
from fsql.compiler.records import dataclass
from fsql.compiler.text.parameters import ExpandedText, parameter_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.text.source import SourceText, Span

_COMMENT: Final = re.compile(r"--[^\r\n]*|/\*.*?\*/|\$\{\w+\}", re.DOTALL)
"""A comment, or a parameter that is replaced by space, which is kept like a comment."""
_STAND_INS: Final = ("_", "1", " ")
"""The replacements of each character of a parameter, which make it a name, a number, or space."""
_NAMES: Final = frozenset({"name", "column_keyword"})
"""Rules of a single token that is a name, even if there is a keyword of that name."""
_WORDS: Final = frozenset(
    {
        "WORD",
        "EXCEPT_COLUMNS",
        "STREAM_WINDOW",
        "WITHIN_RANGE",
        "SINK_WITH",
        "MATCH_CONDITION",
        "ARRAY_QUERY",
    }
)
"""The kinds of tokens that are words."""
TYPE_OPENS: Final = "<"
TYPE_CLOSES: Final = ">"
_OPENING: Final = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; `own_line`: it begins its line; `after_blank`: the line above is empty."""

    text: str
    own_line: bool
    after_blank: bool

    @property
    def ends_line(self) -> bool:
        """Return whether no token may follow on its line."""
        return self.text.startswith("--")


@dataclass(slots=True)
class LayoutToken:
    """A token with the comments before it, and the rules that begin with it.

    `text` is the formatted text, `written` the original one.  The brackets of types have the rules TYPE_OPENS
    and TYPE_CLOSES.  `after_blank`: a line between the token and its comments is empty.  `kind` is a keyword,
    a sign, NAME, QUOTED_NAME, NUMBER or STRING.
    """

    kind: str
    text: str
    written: str
    comments: list[Comment] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)
    after_blank: bool = False


@dataclass(slots=True)
class Group:
    """The elements between two brackets."""

    opening: LayoutToken
    items: list[Element]
    closing: LayoutToken


Element = LayoutToken | Group


def read_pieces(source: SourceText) -> list[LayoutToken]:
    """Return the tokens of a script, and one of kind END with an empty text.

    Raises:
        FsqlError: E1xx, for the first syntax error.
    """
    spans = parameter_spans(source)
    stand_ins = dict.fromkeys(spans, _STAND_INS[0])
    while True:
        text = _with_stand_ins(source.text, stand_ins)
        expanded = ExpandedText(source, text, ())
        try:
            return _parse(expanded, source.text)
        except FsqlError as error:
            wrong = _wrong_stand_in(error, stand_ins)
            if wrong is None:
                raise
            stand_ins[wrong] = _STAND_INS[_STAND_INS.index(stand_ins[wrong]) + 1]


def _with_stand_ins(text: str, stand_ins: Mapping[Span, str]) -> str:
    """Return the text with each parameter replaced by text of the same length."""
    pieces, done = [], 0
    for span, letter in stand_ins.items():
        pieces += [text[done : span.start], letter * (span.end - span.start)]
        done = span.end
    return "".join([*pieces, text[done:]])


def _wrong_stand_in(error: FsqlError, stand_ins: Mapping[Span, str]) -> Span | None:
    """Return the parameter to which an error refers, if another replacement is left for it."""
    label = error.diagnostics[0].primary
    if label is None:
        return None
    for span, letter in stand_ins.items():
        if (
            letter != _STAND_INS[-1]
            and span.start <= label.span.end
            and label.span.start <= span.end
        ):
            return span
    return None


def _parse(expanded: ExpandedText, text: str) -> list[LayoutToken]:
    """Run the automaton over the tokens; note their kinds and the rules that begin with them."""
    tokens = mark_star_exceptions(mark_record_stars(tokenize(expanded)))
    found = mark_literal_types(mark_stream_windows(tokens))
    table = parse_table()
    states = [table.start]
    starts: list[int] = []
    pieces: list[LayoutToken] = []
    done = int(text.startswith("\ufeff"))
    for index, (token, following) in enumerate(zip_longest(found, found[1:])):
        kind = kind_at(token, following, Lookahead(table, states))
        while (action := table.states[states[-1]].get(kind)) is not None and action < 0:
            rule = table.rules[~action]
            first = len(starts) - rule.size
            begun = starts[first] if rule.size else len(pieces)
            if begun < len(pieces):
                pieces[begun].rules.add(rule.origin)
                if rule.origin in _NAMES:  # This keyword is a name.
                    pieces[begun].text = pieces[begun].written
                _mark_type(rule.origin, pieces, begun)
            del starts[first:], states[first + 1 :]
            states.append(table.states[states[-1]][rule.origin])
            starts.append(begun)
            if kind == END and states[-1] == table.end:
                break
        else:
            if action is None:
                raise syntax_error(expanded, found, index)
            states.append(action)
            starts.append(len(pieces))
        shown = text[token.start : token.end]
        is_keyword = token.kind in _WORDS and kind != "NAME"
        piece = LayoutToken(kind, shown.upper() if is_keyword else shown, shown)
        piece.comments = _comments(text[done : token.start], at_start=not pieces)
        last = piece.comments[-1].text if piece.comments else ""
        piece.after_blank = (
            _line_ends(text[done : token.start].rpartition(last)[2] if last else "") > 1
        )
        pieces.append(piece)
        done = token.end
    pieces[-1].comments = _comments(text[done:], at_start=len(pieces) == 1)
    return pieces


def _mark_type(origin: str, pieces: Sequence[LayoutToken], begun: int) -> None:
    """Mark the brackets of a type, if it has any; elsewhere `<` is a comparison."""
    if origin in {"generic_type", "row_type"} and pieces[begun + 1].text == "<":
        pieces[begun + 1].rules.add(TYPE_OPENS)
        pieces[-1].rules.add(TYPE_CLOSES)


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _comments(gap: str, *, at_start: bool) -> list[Comment]:
    """Return the comments between two tokens."""
    comments: list[Comment] = []
    done = 0
    for match in _COMMENT.finditer(gap):
        before = gap[done : match.start()]
        line_ends = _line_ends(before)
        own_line = line_ends > 0 or (at_start and not comments)
        after_blank = line_ends > 1 and bool(comments or not at_start)
        comments.append(Comment(match[0].rstrip(), own_line, after_blank))
        done = match.end()
    return comments


def group_brackets(pieces: Sequence[LayoutToken]) -> list[Element]:
    """Return the pieces of a statement with its brackets as groups."""
    stack: list[tuple[LayoutToken, list[Element]]] = []
    items: list[Element] = []
    for piece in pieces:
        if piece.text in _OPENING or TYPE_OPENS in piece.rules:
            stack.append((piece, items))
            items = []
        elif stack and (piece.text in _OPENING.values() or TYPE_CLOSES in piece.rules):
            opening, outer = stack.pop()
            outer.append(Group(opening, items, piece))
            items = outer
        else:
            items.append(piece)
    return items


def token_texts(source: SourceText) -> list[str]:
    """Return the tokens and comments of a script as they are compared: with keywords in upper case."""
    return [
        text
        for piece in read_pieces(source)
        for text in (*(comment.text for comment in piece.comments), piece.text)
    ]
