"""Expressions: syntax to bound expressions, by a table of what binds each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions import (
    calls,
    concatenation,
    conditionals,
    json_access,
    lambdas,
    matching,
    operators,
    predicates,
    records,
    worded_calls,
)
from fsql.compiler.binder.expressions.clause import ClauseBinder, Subqueries
from fsql.compiler.binder.expressions.literals import bind_literal
from fsql.compiler.binder.expressions.pseudo_columns import pseudo_column
from fsql.compiler.binder.expressions.time_zone import bind_at_time_zone
from fsql.compiler.binder.report import Refusal, not_implemented
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


@dataclass
class ExpressionBinder(ClauseBinder):
    """Binds the expressions of a clause, by the module of each kind."""

    def bind(self, expression: syntax.Expression) -> Expression:
        """Return the expression bound.

        Raises:
            Refusal: E2xx to E4xx.
        """
        bound = _BINDERS[type(expression)](self, expression)
        self.spans[bound] = expression.span
        self.source_spans.add(bound, expression.span)
        return bound


def _bind_column(binder: ClauseBinder, reference: syntax.ColumnReference) -> Expression:
    parameter = binder.parameters.get(reference.parts[0])
    if parameter is not None:
        for inner in reference.parts[1:]:
            parameter = records.field_of(parameter, inner)
        return parameter
    name = reference.parts[-1]
    alias = binder.aliases.get(name.name.lower())
    if alias is not None and len(reference.parts) == 1 and not binder.scope.find(name):
        return alias
    first = reference.parts[0] if len(reference.parts) == 1 else None
    if not binder.scope.find(name, None if first is not None else reference.parts[0]):
        pseudo = pseudo_column(binder.scope, reference)
        if pseudo is not None:
            binder.spans[pseudo.arguments[0]] = reference.span
            return pseudo
    found, inside = binder.resolve(reference)
    bound = found.expression
    for name in inside:
        bound = records.field_of(bound, name)
    binder.place_columns(bound, reference.span)
    return bound


def _bind_literal(binder: ClauseBinder, literal: syntax.Literal) -> Expression:
    return bind_literal(literal, binder.zone)


def _bind_scalar_subquery(binder: ClauseBinder, written: syntax.ScalarSubquery) -> Expression:
    value = _subqueries(binder, written.span).bind(written)
    binder.place_columns(value, written.span)
    return value


def _bind_array_subquery(binder: ClauseBinder, written: syntax.ArraySubquery) -> Expression:
    return _subqueries(binder, written.span).bind_array(written)


def _bind_test(
    binder: ClauseBinder,
    written: syntax.InSubquery | syntax.Exists | syntax.QuantifiedComparison,
) -> Expression:
    return _subqueries(binder, written.span).bind_test(binder, written)


def _subqueries(binder: ClauseBinder, span: Span) -> Subqueries:
    if binder.subqueries is None:
        raise not_implemented(
            f"subquery in {binder.clause}",
            span,
            help="compute it in FROM: (SELECT *, EXISTS (…) AS found FROM t) AS t … ON t.found"
            if binder.clause == "ON"
            else "compute it in the SELECT of a subquery in FROM",
        )
    return binder.subqueries


def _refuse(_binder: ClauseBinder, written: syntax.Refused) -> Expression:
    raise Refusal(written.diagnostic)


def _later(what: str, help: str | None = None) -> Callable[..., Expression]:
    """Return the binder of a kind of expression that is not implemented."""

    def refuse(_binder: ClauseBinder, expression: syntax.Syntax) -> Expression:
        raise not_implemented(what, expression.span, help=help)

    return refuse


_BINDERS: Mapping[type, Callable[..., Expression]] = {
    syntax.Refused: _refuse,
    syntax.ColumnReference: _bind_column,
    syntax.NumberLiteral: _bind_literal,
    syntax.StringLiteral: _bind_literal,
    syntax.BooleanLiteral: _bind_literal,
    syntax.NullLiteral: _bind_literal,
    syntax.TimeLiteral: _bind_literal,
    syntax.BytesLiteral: _bind_literal,
    syntax.IntervalLiteral: _bind_literal,
    syntax.Unary: operators.bind_unary,
    syntax.Chain: concatenation.bind_chain,
    syntax.Not: predicates.bind_not,
    syntax.Logical: predicates.bind_logical,
    syntax.Comparison: predicates.bind_comparison,
    syntax.IsDistinct: predicates.bind_is_distinct,
    syntax.Is: predicates.bind_is,
    syntax.Between: predicates.bind_between,
    syntax.InList: predicates.bind_in_list,
    syntax.Like: matching.bind_like,
    syntax.LikeAny: matching.bind_like_any,
    syntax.Case: conditionals.bind_case,
    syntax.Cast: conditionals.bind_cast,
    syntax.ArrayConstructor: worded_calls.bind_array,
    syntax.Subscript: worded_calls.bind_subscript,
    syntax.FunctionCall: calls.bind_function_call,
    syntax.JsonAccess: json_access.bind_json_access,
    syntax.Lambda: lambdas.refuse_lambda,
    syntax.Trim: worded_calls.bind_trim,
    syntax.RowConstructor: records.bind_row,
    syntax.MapConstructor: worded_calls.bind_map,
    syntax.FieldAccess: records.bind_field,
    syntax.ArrowAccess: records.bind_arrow,
    syntax.InSubquery: _bind_test,
    syntax.Exists: _bind_test,
    syntax.QuantifiedComparison: _bind_test,
    syntax.ScalarSubquery: _bind_scalar_subquery,
    syntax.ArraySubquery: _bind_array_subquery,
    syntax.AtTimeZone: bind_at_time_zone,
    syntax.Extract: worded_calls.bind_extract,
    syntax.RoundTime: worded_calls.bind_round_time,
}
