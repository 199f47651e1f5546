"""IN and EXISTS among the conditions that WHERE connects by AND: joins with the rows of the subquery.

    x IN (SELECT y FROM b), EXISTS (… WHERE b.k = a.k)    →    a SEMI JOIN b ON …
    NOT EXISTS (… WHERE b.k = a.k)                        →    a ANTI JOIN b ON …

`x NOT IN (SELECT y FROM b)` keeps a row only if it is TRUE, and NULL is neither equal to a value nor
different from it.  So it is up to three ANTI joins, those that the types need: with the rows whose y is x;
with all rows whose y is NULL; and, of rows whose own x is NULL, with all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.joins.join import keeps_rows, shift_columns
from fsql.compiler.binder.joins.outer_join import outer_join
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import quantity_text
from fsql.compiler.binder.subqueries.subquery import unbounded_warning
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import JoinKind, append_only
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.subqueries.subquery import Subquery
    from fsql.compiler.expression import Expression


@dataclass(frozen=True, slots=True)
class Test:
    """IN or EXISTS, or with `negated` NOT IN or NOT EXISTS; or a comparison with ANY or ALL."""

    written: syntax.InSubquery | syntax.QuantifiedComparison | syntax.Exists
    negated: bool


def read_test(condition: syntax.Expression) -> Test | None:
    """Return the IN or EXISTS that a condition consists of; None for any other condition."""
    negated = False
    while isinstance(condition, syntax.Not):
        negated = not negated
        condition = condition.operand
    match condition:
        case syntax.Exists():
            return Test(condition, negated)
        case syntax.InSubquery():
            return Test(condition, negated is not condition.negated)
        case _:
            return None


def tested_query(test: Test) -> syntax.Query:
    """Return the subquery of a test, without the clauses that do not affect whether it has rows."""
    query = test.written.query
    if not isinstance(test.written, syntax.Exists) or query.offset is not None:
        return query
    limit = query.limit
    some = limit is None or (isinstance(limit, syntax.NumberLiteral) and limit.text.strip("0"))
    return syntax.Query(query.span, query.body, query.common_tables) if some else query


def join_test(
    relation: Relation,
    test: Test,
    subquery: Subquery,
    binder: ClauseBinder,
    context: Context,
    *,
    changes: bool,
) -> Relation:
    """Return the rows of the outer query for which a test is TRUE; `binder` binds the operand of IN.

    With `changes`, the query ends with EMIT CHANGES.

    Raises:
        Refusal: E2xx to E4xx.
    """
    written, rows = test.written, subquery.rows
    sides = relation.plan, rows.relation.plan
    pairs = pair_values(test, subquery, binder)
    spans, width = context.source_spans, relation.width
    correlated = [rows.over_both(each, width, spans) for each in rows.correlated]

    def join(
        kind: JoinKind, outer: Relation, conditions: Sequence[Expression], *, first: bool = True
    ) -> Relation:
        on, span = [*conditions, *correlated], written.span
        return outer_join(
            *(kind, outer, rows.relation, on, spans),
            span=span,
            changes=changes,
            lifetimes=context.time_to_live.of_sides,
            counts_late=first,
        )

    def warn(joined: Relation) -> Relation:
        if not append_only(joined.plan) and keeps_rows(joined.plan, *sides):
            context.report.warn(unbounded_warning(written.span))
        return joined

    theirs = [shift_columns(inner, width, spans) for _, inner in pairs]
    equal = [call("eq", mine, other) for (mine, _), other in zip(pairs, theirs, strict=True)]
    if not test.negated:
        return warn(join(JoinKind.SEMI, relation, equal))
    unknown = [
        call("is_null", each)
        for pair in zip(theirs, [mine for mine, _ in pairs], strict=True)
        for each in pair
        if each.nullable
    ]
    if unknown and len(pairs) > 1:
        raise not_implemented(
            "NOT IN of several columns that may be NULL",
            written.span,
            help="write NOT EXISTS, or declare the columns NOT NULL",
        )
    relation = join(JoinKind.ANTI, relation, equal)
    for condition in unknown:
        relation = join(JoinKind.ANTI, relation, [condition], first=False)
    return warn(relation)


def operator_name(test: Test) -> str:
    """Return the operator of a test as it is written."""
    written = test.written
    if isinstance(written, syntax.QuantifiedComparison):
        return f"{written.operator} {'ALL' if written.every else 'ANY'}"
    name = "IN" if isinstance(written, syntax.InSubquery) else "EXISTS"
    return f"NOT {name}" if test.negated else name


def pair_values(
    test: Test, subquery: Subquery, binder: ClauseBinder
) -> list[tuple[Expression, Expression]]:
    """Return the pairs of a value that is compared and the subquery's item, of one type; none for EXISTS.

    Raises:
        Refusal: E2xx, E209 if their numbers differ; E301 for the row of an aggregate.
    """
    written = test.written
    if subquery.is_aggregate:
        raise not_implemented(
            f"aggregate without GROUP BY in the subquery of {operator_name(test)}",
            subquery.span,
            help="compare with its value: x = (SELECT MAX(y) …)"
            if not isinstance(written, syntax.Exists)
            else None,
        )
    if isinstance(written, syntax.Exists):
        return []
    operand = written.operand
    operands = operand.items if isinstance(operand, syntax.RowConstructor) else (operand,)
    if len(subquery.items) != len(operands):
        raise refusal(
            "E209",
            f"{operator_name(test)} compares {quantity_text(len(operands), 'value')} with a subquery of"
            f" {quantity_text(len(subquery.items), 'column')}",
            written.span,
        )
    pairs = []
    for each, item in zip(operands, subquery.items, strict=True):
        value = binder.bind_and_check_size(each), each.span
        mine, other = unify([value, (item.expression, item.span)], compared=True)
        pairs.append((mine, other))
    return pairs
