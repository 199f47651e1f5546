"""How binding refuses: one refusal stops the smallest part that cannot mean anything, not the rest.

Deep inside, whatever cannot be bound raises a `Refusal`.  At the places where the parts of a text are
independent of each other (select items, conditions, statements) `Report.part` catches it, records
its diagnostic and continues; where the rest needs what failed, `Abandoned` propagates, and nothing
is said twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.syntax import Identifier
    from fsql.compiler.text.source import SourceText, Span

DIAGNOSTICS_MAX: Final = 20
"""Binding stops when it has found so many errors."""
_QUOTE_CHARACTERS_MAX: Final = 40


class Refusal(Exception):  # noqa: N818 - it carries an error, and ends as one
    """What is being bound cannot mean anything, and this is why.

    The text at `quoted` stands for `…` in what the diagnostic says may help.
    """

    def __init__(self, diagnostic: Diagnostic, quoted: Span | None = None) -> None:
        self.diagnostic = diagnostic
        self.quoted = quoted
        super().__init__(diagnostic.message)


class Abandoned(Exception):  # noqa: N818 - not an error by itself
    """What is being bound needs a part that was refused; that has been recorded already."""


class Report:
    """The diagnostics of one script, in the order in which they were found."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self._refusals_count = 0

    @property
    def full(self) -> bool:
        """Return whether no more errors are to be collected."""
        return len(self.errors) >= DIAGNOSTICS_MAX

    def warn(self, diagnostic: Diagnostic) -> None:
        """Record a warning, once."""
        if diagnostic not in self.warnings:
            self.warnings.append(diagnostic)

    @contextmanager
    def collect_warnings(self) -> Iterator[list[Diagnostic]]:
        """Collect the warnings of the block in a list of their own, which is there behind it."""
        outside, self.warnings = self.warnings, []
        try:
            yield self.warnings
        finally:
            self.warnings = outside

    @contextmanager
    def part(self) -> Iterator[None]:
        """Record the refusal of the block, and continue after it."""
        try:
            yield
        except Refusal as refusal:
            self._refusals_count += 1
            diagnostic = self._with_quote(refusal)
            if diagnostic not in self.errors:
                self.errors.append(diagnostic)
            if self.full:
                raise Abandoned from None
        except Abandoned:
            self._refusals_count += 1
            if self.full:
                raise

    def _with_quote(self, refusal: Refusal) -> Diagnostic:
        """Return the diagnostic with the text that it quotes, unless that is too long to type."""
        diagnostic = refusal.diagnostic
        text = "" if refusal.quoted is None else self._source.slice(refusal.quoted)
        if not text or len(text) > _QUOTE_CHARACTERS_MAX or "\n" in text:
            return diagnostic
        return replace(diagnostic, helps=tuple(h.replace("…", text, 1) for h in diagnostic.helps))

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Collect the refusals of the parts within, then abandon the block if there were any."""
        before = self._refusals_count
        yield
        if self._refusals_count > before:
            raise Abandoned


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
    """Return the refusal of what stands at `span`; the text at `quote` stands for `…` in `help`."""
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


def no_column(
    name: Identifier,
    names: Sequence[str],
    *,
    label: str = "",
    note: str | None = None,
    text_help: bool = False,
) -> Refusal:
    """Return the refusal of a name that none of the columns `names` has (E203).

    With `text_help`, a text may have been meant: other dialects write one in double quotes.
    """
    near = near_name(name.name, names)
    help_ = f'a column with a similar name exists: "{near}"' if near else None
    if text_help and near is None:
        escaped = name.name.replace("'", "''")
        help_ = f"if it is a text, write it in single quotes: '{escaped}'"
    return refusal(
        "E203",
        f'column "{name.name}" does not exist',
        name.span,
        label,
        note=note,
        help=help_,
    )


def not_implemented(what: str, span: Span, *, help: str | None = None) -> Refusal:
    """Return the refusal of a part of the language that this version does not carry out (E301)."""
    return refusal("E301", f"not implemented yet: {what}", span, help=help)
