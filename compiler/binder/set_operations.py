"""Set operations: UNION, INTERSECT and EXCEPT, over rows that are equal where NULL equals NULL.

INTERSECT and EXCEPT are an aggregate of both sides by all columns, which counts the rows of each:

    left   a a b        a: 2, 0   b: 1, 1   c: 0, 1        INTERSECT  b        EXCEPT  a
    right  b c

With ALL, equal rows of a side are numbered first: the second `a` matches the second `a`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import AggregateCall, AggregateFunction, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.coercion import coerce, common_type
from fsql.compiler.logical import (
    Aggregate,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    Rank,
    RankFunction,
    Union,
    append_only,
)
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.sqltypes import BIGINT, fields_one_by_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.schema import Column
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.syntax import SetTerm
    from fsql.compiler.text.source import Span

    Branch = tuple[Plan, Span]


_COUNT_ALL = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def union(branches: Sequence[Branch]) -> Plan:
    """Return all rows of the branches, their columns coerced to common types.

    Raises:
        Refusal: E206, E209.
    """
    if len(branches) == 1:
        return branches[0][0]
    flat = [
        inner
        for branch in _coerce_branches(branches, "UNION")
        for inner in (branch.branches if isinstance(branch, Union) else (branch,))
    ]
    return Union(tuple(flat))


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
    names = [column.name for column in sides[0].schema]
    if term.all:
        sides = [_number_rows(side) for side in sides]
    one, none = (Literal(BIGINT, nullable=value is None, value=value) for value in (1, None))
    marked = [
        Project(side, (*column_refs(side), *marks), (*_names(side), "left", "right"))
        for side, marks in zip(sides, ((one, none), (none, one)), strict=True)
    ]
    both = Union(tuple(marked))
    *keys, in_left, in_right = column_refs(both)
    counts = tuple(
        AggregateCall(AggregateFunction.COUNT, mark, BIGINT, nullable=False)
        for mark in (in_left, in_right)
    )
    rows = Aggregate(both, tuple(keys), _names(both)[: len(keys)], counts, ("left", "right"))
    lefts, rights = column_refs(rows)[len(keys) :]
    zero = Literal(BIGINT, nullable=False, value=0)
    wanted = "gt" if term.operator == "INTERSECT" else "eq"
    kept = filter_relation(rows, [call("gt", lefts, zero), call(wanted, rights, zero)])
    return project(kept, column_refs(kept)[: len(names)], names)


def _number_rows(plan: Plan) -> Plan:
    """Return the rows with a number that distinguishes equal ones, from 1."""
    rows = tuple(column_refs(plan))
    if append_only(plan):
        return Over(plan, rows, (OverCall(_COUNT_ALL, FrameEnd.CURRENT_ROW),), ("number",))
    return Rank(plan, rows, (), RankFunction.ROW_NUMBER, "number")


def _names(plan: Plan) -> tuple[str, ...]:
    return tuple(column.name for column in plan.schema)


def output_expressions(plan: Plan) -> tuple[Plan, list[Expression]]:
    """Return a plan, and the expressions over it that compute the columns of `plan`."""
    if isinstance(plan, Project):
        return plan.input, list(plan.expressions)
    return plan, column_refs(plan)


def with_types(plan: Plan, types: Sequence[SqlType], names: Sequence[str]) -> Plan:
    """Return `plan` with its columns coerced to `types`; the caller has checked that this is possible."""
    below, expressions = output_expressions(plan)
    coerced = [coerce(each, type_) for each, type_ in zip(expressions, types, strict=True)]
    return project(below, coerced, names)


def distinct_rows(plan: Plan, span: Span, context: Context) -> Plan:
    """Return the distinct rows of `plan`, for UNION without ALL."""
    context.report.warn(
        Diagnostic(
            "W301",
            "UNION without ALL keeps every row",
            Label(span),
            helps=("use UNION ALL if duplicates are allowed",),
        )
    )
    names = tuple(column.name for column in plan.schema)
    return Aggregate(plan, tuple(column_refs(plan)), names, (), ())
