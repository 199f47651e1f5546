"""A part of a script that is refused, as an exception that carries its diagnostic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, Label

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span


class Refusal(Exception):  # noqa: N818 - it is reported as a diagnostic
    """A part of the script cannot be bound; carries the diagnostic.

    The text at `quoted` replaces `…` in the help of the diagnostic.
    """

    def __init__(self, diagnostic: Diagnostic, quoted: Span | None = None) -> None:
        self.diagnostic = diagnostic
        self.quoted = quoted
        super().__init__(diagnostic.message)


def refusal(  # noqa: PLR0913 - the parts of a diagnostic, each by its name
    code: str,
    message: str,
    span: Span,
    label: str = "",
    *,
    secondary: tuple[Label, ...] = (),
    note: str | None = None,
    help: str | None = None,
    quote: Span | None = None,
) -> Refusal:
    """Return a refusal with its label at `span`; the text at `quote` replaces `…` in `help`."""
    return Refusal(
        Diagnostic(
            code,
            message,
            Label(span, label),
            secondary,
            () if note is None else (note,),
            () if help is None else (help,),
        ),
        quote,
    )


def not_implemented(
    what: str, span: Span, *, note: str | None = None, help: str | None = None
) -> Refusal:
    """Return the refusal of a feature that is not implemented (E301)."""
    return refusal("E301", f"not implemented yet: {what}", span, note=note, help=help)
