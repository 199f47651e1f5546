"""Aggregates of other dialects, and AS_VALUE, which are written in terms of those of this one.

TOPK(x, 3)                 →   ARRAY_SLICE(ARRAY_AGG(x ORDER BY x DESC) IGNORE NULLS, 1, 3)
LATEST_BY_OFFSET(x, 3)     →   ARRAY_SLICE(ARRAY_AGG(x) IGNORE NULLS, -3)
COLLECT_SET(x)             →   ARRAY_AGG(DISTINCT x)
HISTOGRAM(x), COLLECT(x)   →   ARRAY_HISTOGRAM(ARRAY_AGG(x ORDER BY x) IGNORE NULLS)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.percentiles import of_fractions
from fsql.compiler.binder.report import refusal

VALUES_MAX: Final = 1_000
"""The greatest number of values of TOPK and the like, which are kept in one array."""
_FIRST: Final = frozenset({"TOPK", "TOPKDISTINCT", "EARLIEST_BY_OFFSET"})
_NUMBERED: Final = _FIRST | {"LATEST_BY_OFFSET"}
_RENAMED: Final = {
    "COLLECT_SET": "ARRAY_AGG",
    "LIST": "ARRAY_AGG",
    "MEAN": "AVG",
    "JSONB_AGG": "JSON_AGG",
    "JSONB_OBJECT_AGG": "JSON_OBJECT_AGG",
    "FIRST": "FIRST_VALUE",
    "LAST": "LAST_VALUE",
}
_ONLY_NUMBERED: Final = frozenset({"TOPK", "TOPKDISTINCT"})
_COUNTED: Final = frozenset({"HISTOGRAM", "COLLECT"})
_OF_NUMBERS: Final = {
    "TIMESTAMPTOSTRING": ("DATE_FORMAT", "TIMESTAMP_MILLIS", False),
    "DATETOSTRING": ("DATE_FORMAT", "DATE_FROM_UNIX_DATE", False),
    "STRINGTOTIMESTAMP": ("EPOCH_MILLIS", "TO_TIMESTAMP", True),
    "STRINGTODATE": ("UNIX_DATE", "TO_DATE", True),
}
"""Functions of ksqlDB: the two that they are, and whether they take a text."""

OTHER_AGGREGATES: Final = frozenset(_RENAMED) | _ONLY_NUMBERED | _COUNTED
"""The names that are always other words for an aggregate; EARLIEST_BY_OFFSET is one of its own without n."""


def in_other_words(written: syntax.FunctionCall) -> syntax.Expression | None:  # noqa: PLR0911 - one a form
    """Return a call of an aggregate of another dialect in terms of those of this one; None for other calls.

    ksqlDB's AS_VALUE(k), a copy of a key, is k; its functions between numbers and texts are two calls.

    Raises:
        Refusal: E401, E405.
    """
    name = written.name.parts[-1].name.upper()
    if name in _ONLY_NUMBERED or (name in _NUMBERED and len(written.arguments) > 1):
        return _some_values(written, name)
    if name in _COUNTED:
        return _counted_values(written, name)
    if name == "AS_VALUE" and len(written.arguments) == 1:
        (copied,) = written.arguments
        return None if isinstance(copied, syntax.Star) else copied
    if name in _OF_NUMBERS:
        return _of_number(written, name)
    if name not in _RENAMED:
        return of_fractions(written, name)
    renamed = _named(written, _RENAMED[name])
    if name == "COLLECT_SET":
        return replace(renamed, distinct=True)
    if name in {"FIRST", "LAST"} and not written.ignore_nulls:
        return replace(renamed, respect_nulls=True)
    return renamed


def _of_number(written: syntax.FunctionCall, name: str) -> syntax.Expression:
    """Return a function between the milliseconds or days since 1970 and the text of a time.

    Raises:
        Refusal: E401.
    """
    outer, inner, of_text = _OF_NUMBERS[name]
    zoned = name == "TIMESTAMPTOSTRING" and len(written.arguments) == 3
    if len(written.arguments) != 2 + zoned:
        takes = "a text" if of_text else "a number"
        raise refusal(
            "E401",
            f"{name} takes {takes} and a pattern",
            written.span,
            help=f"write {name}({'text' if of_text else 'n'}, 'yyyy-MM-dd')",
        )
    value, *pattern = written.arguments[:2]
    if of_text:
        made = replace(_named(written, inner), arguments=(value, *pattern))
        return replace(_named(written, outer), arguments=(made,))
    time: syntax.Expression = replace(_named(written, inner), arguments=(value,))
    if zoned:
        zone = written.arguments[2]
        if isinstance(zone, syntax.Star):
            raise refusal("E404", "only COUNT takes *", zone.span)
        utc = syntax.StringLiteral(written.span, "UTC")
        instant = syntax.AtTimeZone(written.span, time, utc)
        time = syntax.AtTimeZone(written.span, instant, zone)
    return replace(_named(written, outer), arguments=(time, *pattern))


def _named(written: syntax.FunctionCall, name: str) -> syntax.FunctionCall:
    return replace(written, name=_function(name, written))


def _number(written: syntax.Expression | syntax.Star) -> int:
    """Return the number that a literal stands for; 0 for other expressions and large numbers."""
    text = written.text if isinstance(written, syntax.NumberLiteral) else ""
    return int(text) if text.isdigit() and len(text) <= len(str(VALUES_MAX)) else 0


def _counted_values(written: syntax.FunctionCall, name: str) -> syntax.FunctionCall:
    """Return HISTOGRAM(x) as the histogram of all values: Flink's MULTISET is a map of counts."""
    value = written.arguments[0] if len(written.arguments) == 1 else None
    if value is None or isinstance(value, syntax.Star):
        raise refusal("E401", f"{name} takes a value", written.span, help=f"write {name}(x)")
    # In order, so that rows may be removed; a running aggregate has the order of its rows.
    order = (
        ()
        if written.over
        else (syntax.OrderItem(value.span, value, descending=False, nulls_first=None),)
    )
    collected = replace(_named(written, "ARRAY_AGG"), order_by=order, ignore_nulls=True)
    return syntax.FunctionCall(written.span, _function("ARRAY_HISTOGRAM", written), (collected,))


def _function(name: str, written: syntax.FunctionCall) -> syntax.QualifiedName:
    span = written.name.span
    return syntax.QualifiedName(span, (syntax.Identifier(span, name),))


def _some_values(written: syntax.FunctionCall, name: str) -> syntax.FunctionCall:
    """Return TOPK(x, n) or a similar call as a slice of all values."""
    if len(written.arguments) != 2 or isinstance(written.arguments[0], syntax.Star):
        raise refusal(
            "E401", f"{name} takes a value and a number", written.span, help=f"write {name}(x, 3)"
        )
    value, count = written.arguments
    number = _number(count)
    if not 1 <= number <= VALUES_MAX:
        raise refusal(
            "E405",
            f"the second argument of {name} must be a literal from 1 to {VALUES_MAX:,}",
            count.span,
            help=f"write {name}(x, 3)",
        )
    order: tuple[syntax.OrderItem, ...] = written.order_by
    if name in _ONLY_NUMBERED:
        assert not isinstance(value, syntax.Star)
        order = (syntax.OrderItem(value.span, value, descending=True, nulls_first=None),)
    collected = replace(
        _named(written, "ARRAY_AGG"),
        arguments=(value,),
        distinct=written.distinct or name == "TOPKDISTINCT",
        order_by=order,
        ignore_nulls=True,
    )
    text = str(number)
    bounds: tuple[syntax.Expression, ...] = (
        syntax.NumberLiteral(count.span, "1"),
        syntax.NumberLiteral(count.span, text),
    )
    if name == "LATEST_BY_OFFSET":
        bounds = (syntax.Unary(count.span, "-", syntax.NumberLiteral(count.span, text)),)
    return syntax.FunctionCall(
        written.span, _function("ARRAY_SLICE", written), (collected, *bounds)
    )
