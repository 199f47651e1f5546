"""Brackets: whether those of each statement match, and how deep they are nested.

They are checked before the grammar, because if a bracket is missing, parsing fails only much later, at a
token that is correct.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.parser.parse_table import END
from fsql.compiler.text.limits import DEPTH_MAX

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.parameters import ExpandedText

_CLOSES: Final = {"RPAR": "LPAR", "RSQB": "LSQB"}


def check_brackets(text: ExpandedText, found: list[Token]) -> None:
    """Check that the brackets of each statement match, and how deep they are nested.

    Raises:
        FsqlError: E104 or E108.
    """
    opened: list[Token] = []
    for token in found:
        if token.kind in {"LPAR", "LSQB"}:
            opened.append(token)
            if len(opened) > DEPTH_MAX:
                raise _too_deep(text, token)
        elif token.kind in _CLOSES:
            opening = opened.pop() if opened else None
            if opening is None or opening.kind != _CLOSES[token.kind]:
                raise _wrong_bracket(text, opening, token)
        elif token.kind in {"SEMICOLON", END} and opened:
            raise _open_bracket(text, opened[-1], token)


def _too_deep(text: ExpandedText, bracket: Token) -> FsqlError:
    label = Label(text.span(bracket.start, bracket.end), f"bracket {DEPTH_MAX + 1}")
    help_ = "move inner queries to CREATE VIEW or WITH"
    message = f"the script is nested more than {DEPTH_MAX} deep"
    return text.error(Diagnostic("E108", message, label, helps=(help_,)))


def _wrong_bracket(text: ExpandedText, opening: Token | None, closing: Token) -> FsqlError:
    span = text.span(closing.start, closing.end)
    if opening is None:
        message = f'the bracket "{closing.text}" has no opening bracket'
        return text.error(Diagnostic("E104", message, Label(span, "no bracket is open")))
    opened = Label(text.span(opening.start, opening.end), f'"{opening.text}" is open')
    message = f'the bracket "{closing.text}" does not close "{opening.text}"'
    return text.error(Diagnostic("E104", message, Label(span, "of another kind"), (opened,)))


def _open_bracket(text: ExpandedText, opening: Token, end: Token) -> FsqlError:
    label = Label(text.span(opening.start, opening.end), "opened here")
    where = "script" if end.kind == END else "statement"
    ends = Label(text.span(end.start, end.end), f"the {where} ends here")
    message = f'the bracket "{opening.text}" is not closed'
    return text.error(Diagnostic("E104", message, label, (ends,)))
