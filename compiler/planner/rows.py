"""Functions that add operators to rows: projections, filters, other scans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import Call, ColumnRef, Expression
from fsql.compiler.functions.calls import combine_balanced
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import Filter, Plan, Project, Scan, operators
from fsql.compiler.node import map_children

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.node import Node


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
