"""The values of IN and EXISTS, and of comparisons with ANY and ALL, from aggregates of a subquery's rows.

    x IN (SELECT y …)         →    (SELECT COUNT(*) … WHERE y = x) > 0, or NULL
    x < ANY (SELECT y …)      →    x < (SELECT MAX(y) …), or FALSE or NULL
    x <> ANY (SELECT y …)     →    x differs from the least or the greatest y, or FALSE or NULL
    x > ALL (SELECT y …)      →    NOT x <= ANY (SELECT y …)

A test is NULL if it is TRUE for no row, but could be if the NULLs on either side were known values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.predicates import INVERSE, compare
from fsql.compiler.binder.joins.join import keys_of_one_type
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import AggregateCall, AggregateFunction, Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_call, make_case
from fsql.compiler.planner.rows import ZERO
from fsql.compiler.sqltypes import BIGINT, BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.binder.subqueries.membership import Test
    from fsql.compiler.expression import Expression

    Pairs = Sequence[tuple[Expression, Expression]]
    Keys = tuple[list[Expression], list[Expression]]
    Compute = Callable[
        [list[Expression], list[Expression], Sequence[AggregateCall]], list[Expression]
    ]


_FALSE: Final = Literal(BOOLEAN, nullable=False, value=False)

_EXTREMES: Final[Mapping[syntax.ComparisonOperator, tuple[AggregateFunction, ...]]] = {
    "<": (AggregateFunction.MAX,),
    "<=": (AggregateFunction.MAX,),
    ">": (AggregateFunction.MIN,),
    ">=": (AggregateFunction.MIN,),
    "<>": (AggregateFunction.MIN, AggregateFunction.MAX),
}
"""The rows with which ANY compares in place of all."""


def test_value(test: Test, pairs: Pairs, keys: Keys, compute: Compute) -> Expression:
    """Return the value of a test; `pairs` are the values that it compares, `keys` those of both sides.

    `compute` returns aggregates of the subquery's rows with the given keys of both sides.

    Raises:
        Refusal: E206, E301.
    """
    if isinstance(test.written, syntax.QuantifiedComparison):
        return _quantified(test.written, pairs, keys, compute)
    outer_keys, inner_keys = keys
    compared = [keys_of_one_type(*pair) for pair in pairs]
    (found,) = compute(
        [*(mine for mine, _ in compared), *outer_keys],
        [*(other for _, other in compared), *inner_keys],
        [_count(None)],
    )
    value = call("gt", found, ZERO)
    if any(each.nullable for pair in pairs for each in pair):
        if len(pairs) > 1:
            raise not_implemented(
                "this IN of several columns that may be NULL",
                test.written.span,
                help="write EXISTS, or declare the columns NOT NULL",
            )
        ((mine, other),) = pairs
        value = _true_or_null(value, _unknown(mine, compute(*keys, _counts(mine, other))))
    return call("not", value) if test.negated else value


def _quantified(
    written: syntax.QuantifiedComparison, pairs: Pairs, keys: Keys, compute: Compute
) -> Expression:
    if len(pairs) > 1:
        raise not_implemented(
            "comparison of several columns with ANY or ALL",
            written.span,
            help="write IN or NOT IN if they are to be equal or not, else EXISTS",
        )
    ((mine, other),) = pairs
    span = written.operand.span
    operator = INVERSE[written.operator] if written.every else written.operator
    compare(written.operator, (mine, span), (other, written.query.span))  # for its errors
    if make_call("lt", mine, other) is None:
        raise refusal(
            "E206",
            f"{written.operator} {'ALL' if written.every else 'ANY'} does not take {other.type}",
            written.span,
            help="write IN or NOT IN if they are to be equal or not, else EXISTS",
        )
    extremes = _EXTREMES[operator]
    calls = [AggregateCall(each, other, other.type, nullable=True) for each in extremes]
    found = compute(*keys, [*calls, *_counts(mine, other)])
    compared = [compare(operator, (mine, span), (each, span)) for each in found[: len(extremes)]]
    value = call("coalesce", combine_balanced("or", compared), _FALSE)
    value = _true_or_null(value, _unknown(mine, found[len(extremes) :]))
    return call("not", value) if written.every else value


def _counts(mine: Expression, other: Expression) -> list[AggregateCall]:
    """Return the counts by which a comparison with each row may be NULL; none if it is not."""
    if other.nullable:
        return [_count(None), _count(other)]
    return [_count(None)] if mine.nullable else []


def _unknown(mine: Expression, counts: Sequence[Expression]) -> list[Expression]:
    """Return when a comparison is NULL: that with a row whose value is, or with any if `mine` is."""
    if not counts:
        return []
    rows, *known = counts
    unknown = [call("lt", each, rows) for each in known]
    if mine.nullable:
        unknown.append(call("and", call("is_null", mine), call("gt", rows, ZERO)))
    return unknown


def _count(argument: Expression | None) -> AggregateCall:
    return AggregateCall(AggregateFunction.COUNT, argument, BIGINT, nullable=False)


def _true_or_null(value: Expression, unknown: Sequence[Expression]) -> Expression:
    """Return TRUE if `value` is, else NULL if one of `unknown` is TRUE, else FALSE."""
    if not unknown:
        return value
    true, nothing = (Literal(BOOLEAN, each is None, each) for each in (True, None))
    return make_case([(value, true), (combine_balanced("or", unknown), nothing)], _FALSE)
