"""Warns of patterns of times with a part that is probably another one: `HH:MM` has the month."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.references import parts_of
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.read_patterns import LETTERS
from fsql.compiler.functions.template_patterns import TEMPLATES
from fsql.compiler.functions.time_pattern_families import JAVA, STRFTIME
from fsql.compiler.functions.time_patterns import Pattern, PatternError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.functions.time_patterns import Family
    from fsql.compiler.text.source import Span

_FAMILIES: Final[Mapping[str, Family]] = {
    **dict.fromkeys(
        (
            *("DATE_FORMAT", "FORMAT_TIMESTAMP", "FORMAT_DATE", "FORMAT_TIME", "FROM_UNIXTIME"),
            "PARSE_TIME",
            *("TO_TIMESTAMP", "TRY_TO_TIMESTAMP", "TO_TIMESTAMP_LTZ", "PARSE_TIMESTAMP"),
            *("TO_DATE", "TRY_TO_DATE", "PARSE_DATE"),
            *("UNIX_TIMESTAMP", "UNIX_SECONDS"),
        ),
        JAVA,
    ),
    **dict.fromkeys(("STRFTIME", "STRPTIME", "TRY_STRPTIME"), STRFTIME),
    "TO_CHAR": TEMPLATES,
}
"""The functions that take a pattern as their second argument, by their names in scripts.

Those that read patterns of several families refuse the ones that these would read differently.
"""
_MEANINGS: Final = {"day": "day of the month", "hour": "hour from 0 to 23"}
_HOURS: Final = frozenset({"hour", "hour of 12"})
_OF_DATE: Final = frozenset({"year", "year of century", "year from 1970 to 2069", "day"})


def doubtful_patterns(script: syntax.Script) -> Iterator[Diagnostic]:
    """Yield a warning for each constant pattern that probably has another part, in textual order."""
    found: dict[Span, tuple[str, Family]] = {}
    for part in parts_of(script):
        if isinstance(part, syntax.FunctionCall) and len(part.arguments) > 1:
            family, pattern = _FAMILIES.get(part.name.parts[-1].name.upper()), part.arguments[1]
            if family is not None and isinstance(pattern, syntax.StringLiteral):
                found[pattern.span] = pattern.value, family
    for span in sorted(found, key=lambda each: each.start):
        text, family = found[span]
        try:
            doubtful = _doubtful(Pattern(family.pieces(text)))
        except PatternError:
            continue  # refused where it is bound
        if doubtful is not None:
            what, meant = doubtful
            letters = LETTERS[family.name][meant]
            help_ = f"the {_MEANINGS.get(meant, meant)} is {letters} in patterns of {family.name}"
            yield Diagnostic("W307", f"pattern has {what}", Label(span), helps=(help_,))


def _doubtful(pattern: Pattern) -> tuple[str, str] | None:
    """Return what in a pattern is probably wrong, and the part that is meant; None if nothing is."""
    for (one, between), (other, _) in pairwise(pattern.parts):
        # White space and T are between a date and a time of day.
        found = None if between.isspace() or "T" in between else _doubtful_pair(one, other)
        if found is not None:
            return found
    parts = {part for part, _ in pattern.parts}
    if {"day of year", "month"} <= parts:
        return "the day of the year beside the month", "day"
    if "hour of 12" in parts and "half of the day" not in parts:
        return "an hour from 1 to 12 without AM or PM", "hour"
    return None


def _doubtful_pair(one: str | None, other: str | None) -> tuple[str, str] | None:
    if one in _HOURS and other == "month":
        return "the month after the hour", "minute"
    if one == "month" and other == "second":
        return "the month before the second", "minute"
    if (one == "minute" and other in _OF_DATE) or (one in _OF_DATE and other == "minute"):
        return f"the minute beside the {other if one == 'minute' else one}", "month"
    if one == "minute" and other == "fraction":
        return "the fraction of a second after the minute", "second"
    return None
