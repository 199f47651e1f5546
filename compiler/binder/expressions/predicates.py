"""Predicates: comparison, logic, IS, BETWEEN and IN with a list."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.expressions.pseudo_columns import compared_with_text
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Expression, InSet, Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_call
from fsql.compiler.functions.coercion import coerce, coercible
from fsql.compiler.sqltypes import BOOLEAN, STRUCTURED, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.text.source import Span


_COMPARISONS: Final[Mapping[str, str]] = {
    "=": "eq",
    "<>": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}

INVERSE: Final[Mapping[syntax.ComparisonOperator, syntax.ComparisonOperator]] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
"""The comparison that is TRUE where another is FALSE."""


def bind_not(binder: ClauseBinder, negation: syntax.Not) -> Expression:
    """Bind `NOT p`."""
    return call("not", binder.bind_condition(negation.operand))


def bind_logical(binder: ClauseBinder, logical: syntax.Logical) -> Expression:
    """Bind `p AND q AND …` and `p OR q OR …`."""
    operands = [binder.bind_condition(operand) for operand in logical.operands]
    return combine_balanced(logical.operator.lower(), operands)


def bind_comparison(binder: ClauseBinder, comparison: syntax.Comparison) -> Expression:
    """Bind `a = b` and the other comparisons."""
    of_parts = _compare_rows(binder, comparison)
    if of_parts is not None:
        return of_parts
    left, right = binder.bind(comparison.left), binder.bind(comparison.right)
    left = compared_with_text(left, comparison.left, comparison.right)
    right = compared_with_text(right, comparison.right, comparison.left)
    return compare(
        comparison.operator, (left, comparison.left.span), (right, comparison.right.span)
    )


def _compare_rows(binder: ClauseBinder, comparison: syntax.Comparison) -> Expression | None:
    """Return `(a, b) < (c, d)` as `a < c OR a = c AND b < d`; None for other comparisons.

    Raises:
        Refusal: E206 if the rows differ in length.
    """
    left, right, operator = comparison.left, comparison.right, comparison.operator
    if not isinstance(left, syntax.RowConstructor) or not isinstance(right, syntax.RowConstructor):
        return None
    if operator in {"=", "<>"} or not left.items:
        return None
    if len(left.items) != len(right.items):
        message = f"rows of {len(left.items)} and {len(right.items)} values are compared"
        raise refusal("E206", message, comparison.span)
    pairs = [
        ((binder.bind(one), one.span), (binder.bind(other), other.span))
        for one, other in zip(left.items, right.items, strict=True)
    ]
    made = compare(operator, *pairs[-1])
    for one, other in reversed(pairs[:-1]):
        equal = call("and", compare("=", one, other), made)
        made = call("or", compare(operator[0], one, other), equal)
    return made


def compare(
    operator: str, left: tuple[Expression, Span], right: tuple[Expression, Span]
) -> Expression:
    """Return the comparison of two expressions, each with its span.

    Raises:
        Refusal: E206 if their types have no common type or no order.
    """
    operands = unify([left, right], compared=True)
    made = make_call(_COMPARISONS[operator], *operands)
    if made is None:
        raise refusal(
            "E206",
            f'operator "{operator}" does not take {operands[0].type}',
            left[1].to(right[1]),
            note="arrays, rows and maps can be compared with = and <> only",
        )
    return made


def bind_is_distinct(binder: ClauseBinder, test: syntax.IsDistinct) -> Expression:
    """Bind `a IS [NOT] DISTINCT FROM b`: a comparison that treats NULL as a value and is never NULL."""
    left, right = binder.bind(test.left), binder.bind(test.right)
    same = compare("=", (left, test.left.span), (right, test.right.span))
    both_null = call("and", call("is_null", left), call("is_null", right))
    equal = call("coalesce", same, both_null)
    return equal if test.negated else call("not", equal)


def bind_is(binder: ClauseBinder, test: syntax.Is) -> Expression:
    """Bind `a IS [NOT] NULL`, and IS TRUE, FALSE and UNKNOWN: none of them is ever NULL."""
    if test.value in {"NULL", "UNKNOWN"}:
        bind = binder.bind if test.value == "NULL" else binder.bind_condition
        return call("is_not_null" if test.negated else "is_null", bind(test.operand))
    operand = binder.bind_condition(test.operand)
    wanted = operand if test.value == "TRUE" else call("not", operand)
    holds = call("coalesce", wanted, Literal(BOOLEAN, nullable=False, value=False))
    return call("not", holds) if test.negated else holds


def bind_between(binder: ClauseBinder, between: syntax.Between) -> Expression:
    """Bind `a [NOT] BETWEEN [SYMMETRIC] low AND high`; with SYMMETRIC the bounds have either order."""
    operand, span = binder.bind(between.operand), between.operand.span
    low = binder.bind(between.low), between.low.span
    high = binder.bind(between.high), between.high.span
    of_low, of_high = (
        (compared_with_text(operand, between.operand, bound), span)
        for bound in (between.low, between.high)
    )
    inside = call("and", compare(">=", of_low, low), compare("<=", of_high, high))
    if between.symmetric:
        swapped = call("and", compare(">=", of_high, high), compare("<=", of_low, low))
        inside = call("or", inside, swapped)
    return call("not", inside) if between.negated else inside


def bind_in_list(binder: ClauseBinder, in_list: syntax.InList) -> Expression:
    """Bind `a [NOT] IN (b, c)`: adjacent constants become a set, other items become comparisons."""
    operands = [(binder.bind(item), item.span) for item in (in_list.operand, *in_list.items)]
    value, *items = unify(operands, compared=True)
    items = [
        coerce(item, value.type) if coercible(item.type, value.type) else item for item in items
    ]
    found = combine_balanced("or", _membership_terms(value, items))
    return call("not", found) if in_list.negated else found


def _membership_terms(value: Expression, items: Sequence[Expression]) -> list[Expression]:
    """Return the operands of the OR that determines whether `value` is equal to one of `items`."""
    terms: list[Expression] = []
    for are_constant, group in groupby(
        items, lambda item: isinstance(item, Literal) and item.type == value.type
    ):
        run = list(group)
        if are_constant and len(run) > 1 and value.type.kind not in {*STRUCTURED, Kind.NULL}:
            values = tuple(item.value for item in run if isinstance(item, Literal))
            terms.append(InSet(BOOLEAN, value.nullable or None in values, value, values))
        else:
            terms += [call("eq", value, item) for item in run]
    return terms
