"""Diagnostics: errors and warnings about a user's text, as data.

A diagnostic has a code (a row of `codes`), a one-line message, a primary label on what is wrong, secondary
labels on other spans that explain it, notes (facts) and helps (one action each, with the exact text to type).
`render` shows it.  Wording: the message is in lower case without a full stop, names the object and its kind
in double quotes, and never an internal class, rule or token.

`FsqlError` carries diagnostics to the caller of the compiler.  It is raised only for what a user
wrote: a bug of fsql is an `AssertionError`, a bad row of data an error row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.text.source import SourceText, Span


@dataclass(frozen=True, slots=True)
class Label:
    """A span of the text and a message about it; with an empty message the span is only underlined."""

    span: Span
    message: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning.  `primary` is None if it is not about the text (a lost worker)."""

    code: str
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.code in CODES, f"{self.code} has no row in fsql.compiler.diagnostics.codes"

    @property
    def severity(self) -> str:
        """Return "warning" for W codes, "error" for all others."""
        return "warning" if self.code.startswith("W") else "error"


class FsqlError(Exception):
    """The user's text cannot be executed; `source` is the text to which the labels point."""

    def __init__(self, diagnostics: Iterable[Diagnostic], source: SourceText | None = None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.source = source
        assert self.diagnostics, "an error states what is wrong"
        super().__init__("\n".join(f"{each.code}: {each.message}" for each in self.diagnostics))
