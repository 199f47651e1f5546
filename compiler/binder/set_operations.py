"""Set operations: UNION, INTERSECT and EXCEPT, whose sides get common types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.coercion import common_type
from fsql.compiler.planner.rows import with_types
from fsql.compiler.planner.set_operations import distinct_rows, matched_rows, union_all
from fsql.compiler.sqltypes import fields_one_by_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.logical import Plan
    from fsql.compiler.schema import Column
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.syntax import SetTerm
    from fsql.compiler.text.source import Span

    Branch = tuple[Plan, Span]


def union(branches: Sequence[Branch]) -> Plan:
    """Return all rows of the branches, their columns coerced to common types.

    Raises:
        Refusal: E206, E209.
    """
    if len(branches) == 1:
        return branches[0][0]
    return union_all(_coerce_branches(branches, "UNION"))


def _coerce_branches(branches: Sequence[Branch], operator: str) -> list[Plan]:
    """Return the branches with their columns coerced to common types."""
    first, first_span = branches[0]
    for plan, span in branches:
        if len(plan.schema) != len(first.schema):
            raise refusal(
                "E209",
                f"{operator} of {len(first.schema)} columns and {len(plan.schema)}",
                span,
                f"this has {len(plan.schema)}",
                secondary=(Label(first_span, f"this has {len(first.schema)}"),),
            )
    types = [_common_column(branches, index, operator) for index in range(len(first.schema))]
    coerced = []
    for plan, _ in branches:
        names = [column.name for column in plan.schema]
        coerced.append(with_types(plan, types, names))
    return coerced


def _common_column(branches: Sequence[Branch], index: int, operator: str) -> SqlType:
    """Return the type of a column of a set operation."""
    common = branches[0][0].schema[index].type
    first_span = branches[0][1]
    for plan, span in branches:
        column = plan.schema[index]
        wider = common_type([common, column.type])
        if wider is None:
            raise _unlike_columns(
                f"column {index + 1} of the {operator}", common, column, span, first_span
            )
        common = wider
    return common


def _unlike_columns(
    what: str, common: SqlType, column: Column, span: Span, first_span: Span
) -> Refusal:
    return refusal(
        "E206",
        f"{what} is {common} and {column.type}",
        span,
        f'"{column.name}" is {column.type} here',
        secondary=(Label(first_span, f"{common} here"),),
        help=f"cast one of them: CAST({column.name} AS {common})"
        if castable(column.type, common)
        else fields_one_by_one(column.type, common).replace("(…)", column.name)
        if column.type.fields and len(column.type.fields) == len(common.fields)
        else None,
    )


def bind_counts(left: Branch, right: Branch, term: SetTerm, context: Context) -> Plan:
    """Return the INTERSECT or EXCEPT of two plans.

    Raises:
        Refusal: E206, E209.
    """
    context.report.warn(
        Diagnostic(
            "W301",
            f"{term.operator} keeps every row",
            Label(term.span),
            notes=("a row of the other side may arrive later",),
        )
    )
    sides = _coerce_branches([left, right], term.operator)
    return matched_rows(*sides, present=term.operator == "INTERSECT", all_rows=term.all)


def bind_distinct(plan: Plan, span: Span, context: Context) -> Plan:
    """Return the distinct rows of `plan`, for UNION without ALL."""
    context.report.warn(
        Diagnostic(
            "W301",
            "UNION without ALL keeps every row",
            Label(span),
            helps=("use UNION ALL if duplicates are allowed",),
        )
    )
    return distinct_rows(plan)
