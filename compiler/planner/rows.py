"""Functions that add operators to rows: projections, filters, other scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Call, ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import Filter, Plan, Project, Scan, operators
from fsql.compiler.node import map_children
from fsql.compiler.sqltypes import INT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.node import Node
    from fsql.compiler.sqltypes import SqlType


ZERO: Final = Literal(INT, nullable=False, value=0)
"""The key of both sides where no condition of a join is an equality."""


def project(plan: Plan, expressions: Sequence[Expression], names: Sequence[str]) -> Plan:
    """Return the projection; `plan` itself if the projection would be the identity."""
    unchanged = len(expressions) == len(plan.schema) and all(
        isinstance(expression, ColumnRef) and expression.index == i and column.name == name
        for i, (expression, name, column) in enumerate(
            zip(expressions, names, plan.schema, strict=True)
        )
    )
    return plan if unchanged else Project(plan, tuple(expressions), tuple(names))


def column_refs(plan: Plan) -> list[Expression]:
    """Return a reference to each column of `plan`."""
    return [ColumnRef(column.type, column.nullable, i) for i, column in enumerate(plan.schema)]


def filter_relation(plan: Plan, conditions: Sequence[Expression]) -> Plan:
    """Return the rows for which all conditions are TRUE; `plan` itself if there are none.

    Conditions that cannot fail come first: the others are evaluated where these are TRUE.
    """
    sure = [each for each in conditions if not fallible(each)]
    others = [each for each in conditions if fallible(each)]
    for part in (sure, others):
        plan = Filter(plan, combine_balanced("and", part)) if part else plan
    return plan


def conjuncts(condition: Expression) -> list[Expression]:
    """Return the conditions that `condition` connects by AND, left to right."""
    found: list[Expression] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == "and":
            waiting.extend(reversed(part.arguments))
        else:
            found.append(part)
    return found


def replace_scans(plan: Plan, replacement: Callable[[Scan], Plan]) -> Plan:
    """Return `plan` with each of its scans replaced."""
    results: dict[Node, Plan] = {}

    def change(child: Node) -> Node:
        return results.get(child, child)

    for node in operators(plan):
        changed = replacement(node) if isinstance(node, Scan) else map_children(node, change)
        # This derives each schema from those of the inputs, which avoids deep recursion.
        _ = changed.schema
        results[node] = changed
    return results[plan]


def make_distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with numbers appended to repeated ones.

    >>> make_distinct_names(["sum", "count", "sum"])
    ('sum', 'count', 'sum_2')
    """
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(made)


def null_safe_keys(one: Expression, other: Expression) -> list[tuple[Expression, Expression]]:
    """Return keys that are never NULL, and equal if and only if both sides are equal or both NULL."""
    if not (one.nullable and other.nullable):
        return [(one, other)]
    of_one, of_other = (call("coalesce", each, instead_of_null(each.type)) for each in (one, other))
    return [(call("is_null", one), call("is_null", other)), (of_one, of_other)]


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
