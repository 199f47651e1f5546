"""Syntax errors in the words of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, Label

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.lexer import Word
    from fsql.compiler.parameters import ExpandedText


def syntax_error(text: ExpandedText, found: list[Word], index: int) -> FsqlError:
    """Return the error of the word at `index`, the first that cannot stand where it does."""
    word = found[index]
    label = Label(text.span(word.start, word.end))
    return text.error(Diagnostic("E101", f'syntax error at "{word.text}"', label))
