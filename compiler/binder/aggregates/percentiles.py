"""Percentiles: `PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)`, `QUANTILE_CONT(x, 0.5)`.

P(ARRAY[a, b]) WITHIN GROUP …   →   CASE WHEN p IS NOT NULL THEN ARRAY[p, P(b) WITHIN GROUP …] END

where p is P(a) WITHIN GROUP ….
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import refusal
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.evaluate import constant_value

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression

    Parts = tuple[Expression, tuple[Expression, ...], tuple[tuple[bool, bool], ...], float]


MEDIANS: Final = frozenset({"MEDIAN", "APPROX_MEDIAN"})
_WITHIN_GROUP: Final = frozenset({"PERCENTILE_CONT", "PERCENTILE_DISC"})
"""The names of percentiles whose values are in WITHIN GROUP; the fraction is the second argument of
others."""
_APPROXIMATE: Final = "APPROX_PERCENTILE"
"""It has both forms; in WITHIN GROUP also with a greatest error, which is 0 here."""
NAMES: Final = frozenset(
    name for name, function in AGGREGATES.items() if function.name.startswith("PERCENTILE")
)


def of_fractions(written: syntax.FunctionCall, name: str) -> syntax.Expression | None:
    """Return a percentile of several fractions as an array of percentiles; None for another call.

    Raises:
        Refusal: E405 for no fractions.
    """
    place = 0 if written.order_by else 1
    if name not in NAMES or name in MEDIANS or len(written.arguments) <= place:
        return None
    fractions = written.arguments[place]
    if not isinstance(fractions, syntax.ArrayConstructor):
        return None
    if not fractions.items:
        raise refusal("E405", f"{name} of no fractions", fractions.span)
    span = written.span
    calls = tuple(
        replace(
            written, arguments=(*written.arguments[:place], each, *written.arguments[place + 1 :])
        )
        for each in fractions.items
    )
    empty = syntax.WhenClause(
        span,
        (syntax.Is(span, calls[0], "NULL", negated=True),),
        syntax.ArrayConstructor(span, calls),
    )
    return syntax.Case(span, None, (empty,), None)


def percentile_parts(arguments: ClauseBinder, name: str, written: syntax.FunctionCall) -> Parts:
    """Return the argument of a percentile, and its fraction.

    Raises:
        Refusal: E401, E403, E404, E405.
    """
    within = name in _WITHIN_GROUP or (name == _APPROXIMATE and bool(written.order_by))
    if not within:
        return _quantile(arguments, name, written)
    counts = {1, 2} if name == _APPROXIMATE else {1}
    if len(written.arguments) not in counts or len(written.order_by) != 1:
        raise refusal(
            "E401",
            f"{name} takes a fraction, and one expression in WITHIN GROUP",
            written.span,
            help=f"write {name}(0.5) WITHIN GROUP (ORDER BY x)",
        )
    (item,) = written.order_by
    fraction = _fraction(arguments, name, written.arguments[0])
    value = arguments.bind_and_check_size(item.expression)
    if not item.descending:
        return value, (), (), fraction
    if name == "PERCENTILE_DISC":
        # Not that of 1 - fraction: where a whole number of rows is below it, another value is the first.
        return value, (value,), ((True, True),), fraction
    return value, (), (), 1.0 - fraction


def _quantile(arguments: ClauseBinder, name: str, written: syntax.FunctionCall) -> Parts:
    """Return the parts of `QUANTILE_CONT(x, fraction)`."""
    if len(written.arguments) != 2 or written.order_by:
        raise refusal(
            "E401",
            f"{name} takes a value and a fraction",
            written.span,
            help=f"write {name}(x, 0.5)",
        )
    value = _whole(arguments, written.arguments[0])
    return value, (), (), _fraction(arguments, name, written.arguments[1])


def _fraction(
    arguments: ClauseBinder, name: str, written: syntax.Expression | syntax.Star
) -> float:
    span = written.span
    fraction = constant_value(_whole(arguments, written))
    if isinstance(fraction, bool) or not isinstance(fraction, int | float):
        raise refusal(
            "E403",
            f"fraction of {name} is not a constant number",
            span,
            help="write a number from 0 to 1, or ARRAY[0.5, 0.9]",
        )
    if not 0 <= fraction <= 1:
        raise refusal("E405", f"fraction of {name} is not between 0 and 1", span)
    return float(fraction)


def _whole(arguments: ClauseBinder, written: syntax.Expression | syntax.Star) -> Expression:
    if isinstance(written, syntax.Star):
        raise refusal("E404", "only COUNT takes *", written.span)
    return arguments.bind_and_check_size(written)
