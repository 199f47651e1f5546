"""Errors during binding: an error stops the smallest independent part of the script, not the rest.

A part that cannot be bound raises `Refusal`.  `Report.part` catches it around parts of the text that are
independent of each other (select items, conditions, statements), records its diagnostic and continues.
If the rest needs the part that failed, `Abandoned` propagates, so that no error is reported twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.diagnostics.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.schema import InferenceNote
    from fsql.compiler.syntax import Remarks
    from fsql.compiler.text.source import SourceText


DIAGNOSTICS_MAX: Final = 20
"""Binding stops after this many errors."""


_QUOTE_CHARACTERS_MAX: Final = 40


class Abandoned(Exception):  # noqa: N818 - not an error by itself
    """A part of the script depends on a refused part, whose refusal has been recorded already."""


class ColumnWarning(NamedTuple):
    """A warning about columns of a table, which is for those that the job uses; each note is of a column."""

    table: str
    diagnostic: Diagnostic
    notes: tuple[InferenceNote, ...]


class Report:
    """The diagnostics of one script, in the order in which they were found."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.of_columns: list[ColumnWarning] = []
        self._refusals_count = 0

    @property
    def full(self) -> bool:
        """Return whether the limit of errors has been reached."""
        return len(self.errors) >= DIAGNOSTICS_MAX

    def warn(self, diagnostic: Diagnostic) -> None:
        """Record a warning, once."""
        if diagnostic not in self.warnings:
            self.warnings.append(diagnostic)

    def say(self, remarks: Remarks) -> None:
        """Record the warnings about a statement.

        Raises:
            Refusal: if it is refused.
        """
        for warning in remarks.warnings:
            self.warn(warning)
        if remarks.refused is not None:
            raise Refusal(remarks.refused)

    @contextmanager
    def collect_warnings(self) -> Iterator[list[Diagnostic]]:
        """Collect the warnings of the block in the list that is returned."""
        outside, self.warnings = self.warnings, []
        try:
            yield self.warnings
        finally:
            self.warnings = outside

    @contextmanager
    def part(self) -> Iterator[None]:
        """Record a refusal of the block, and continue after the block."""
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
        """Return the diagnostic with the quoted text in its help, unless the text is too long."""
        diagnostic = refusal.diagnostic
        text = "" if refusal.quoted is None else self._source.slice(refusal.quoted)
        if not text or len(text) > _QUOTE_CHARACTERS_MAX or "\n" in text:
            return diagnostic
        return replace(diagnostic, helps=tuple(h.replace("…", text) for h in diagnostic.helps))

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Collect the refusals of parts inside the block; raise `Abandoned` at its end if there were any."""
        before = self._refusals_count
        yield
        if self._refusals_count > before:
            raise Abandoned
