"""Windows of ksqlDB: `WINDOW TUMBLING (SIZE 1 HOUR)` is the window TUMBLE in GROUP BY; WITHIN of joins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

_FUNCTIONS: Final = {"TUMBLING": "TUMBLE", "HOPPING": "HOP", "SESSION": "SESSION"}
_NEEDED: Final = {"TUMBLING": ("SIZE",), "HOPPING": ("ADVANCE BY", "SIZE"), "SESSION": ("",)}
"""The terms of each kind, in the order of the arguments of the function; "" is a term without a word."""
_FORMS: Final = {
    "TUMBLING": "WINDOW TUMBLING (SIZE 1 HOUR)",
    "HOPPING": "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)",
    "SESSION": "WINDOW SESSION (10 MINUTES)",
}


_GRACE: Final = "GRACE PERIOD"


class _Term(NamedTuple):
    """`ADVANCE BY 1 MINUTE`."""

    span: Span
    word: str
    interval: syntax.IntervalLiteral


def window_word(
    _span: Span, first: syntax.Identifier | None = None, second: syntax.Identifier | None = None
) -> str:
    """Return `SIZE`, `GRACE PERIOD`, or `ADVANCE BY`; "" if there is no word."""
    words = [each.name.upper() for each in (first, second) if each is not None]
    return "ADVANCE BY" if words == ["ADVANCE"] else " ".join(words)


def window_term(span: Span, word: str, number: syntax.NumberLiteral, unit: syntax.Unit) -> _Term:
    """Return `SIZE 1 HOUR`."""
    value = syntax.StringLiteral(number.span, number.text)
    return _Term(span, word, syntax.IntervalLiteral(number.span, value, unit))


def stream_window(
    span: Span, _window: object, kind: syntax.Identifier, *terms: _Term
) -> syntax.FunctionCall:
    """Return `WINDOW TUMBLING (SIZE 1 HOUR)` as TUMBLE over the event time of FROM.

    RETENTION has no effect: the rows of a window are kept until it closes.

    Raises:
        FsqlError: E101 for terms that are missing, repeated or of another kind.
    """
    name = kind.name.upper()
    given: dict[str, syntax.IntervalLiteral] = {}
    for term in terms:
        word = "" if name == "SESSION" and term.word == "GAP" else term.word
        if word in given or word not in {*_NEEDED[name], "RETENTION", _GRACE}:
            what = "it is written twice" if word in given else f"{name} does not take it"
            raise _form_error(name, term.span, what)
        given[word] = term.interval
    missing = [word for word in _NEEDED[name] if word not in given]
    if missing:
        raise _form_error(name, span, f"{missing[0] or 'the gap'} is missing")
    sizes = (given[word] for word in _NEEDED[name])
    time = syntax.EventTime(span, given.get(_GRACE))
    return syntax.FunctionCall.of(span, _FUNCTIONS[name], time, *sizes)


def within_range(span: Span, before: _Term, after: _Term | None = None) -> syntax.Within:
    """Return `1 HOUR` or `(1 HOUR, 10 MINUTES)`.

    Raises:
        FsqlError: E101 for words before the numbers.
    """
    for term in (before, after):
        if term is not None and term.word:
            help_ = "write WITHIN 1 HOUR, or WITHIN (1 HOUR, 10 MINUTES) for times before and after"
            raise _terms_error("the terms of WITHIN", term.span, "", help_)
    return syntax.Within(span, before.interval, (after or before).interval)


def join_within(
    span: Span, _word: object, range_: syntax.Within, grace: _Term | None
) -> syntax.Within:
    """Return `WITHIN 1 HOUR`, or `WITHIN 1 HOUR GRACE PERIOD 1 MINUTE`.

    Raises:
        FsqlError: E101, if other words are after the range.
    """
    if grace is None:
        return range_
    if grace.word != _GRACE:
        help_ = "write WITHIN 1 HOUR GRACE PERIOD 10 MINUTES"
        raise _terms_error("the terms of WITHIN", grace.span, "", help_)
    return replace(range_, span=span, grace=grace.interval)


def _form_error(name: str, span: Span, what: str) -> FsqlError:
    return _terms_error(f"the terms of WINDOW {name}", span, what, f"write {_FORMS[name]}")


def _terms_error(terms: str, span: Span, what: str, help_: str) -> FsqlError:
    message = f"{terms} do not fit"
    return FsqlError([Diagnostic("E101", message, Label(span, what), helps=(help_,))])
