"""Limits of bound plans, so that no script exhausts the time or stack of the compiler.

The parser bounds the text; but views and operators that repeat an operand can make a small text a large
plan.  Plans within these limits can be walked recursively.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import LambdaCall
from fsql.compiler.logical import TABLES_MAX, operators
from fsql.compiler.node import children, walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Job, Plan
    from fsql.compiler.text.source import Span

EXPRESSION_DEPTH_MAX: Final = 300
EXPRESSION_SIZE_MAX: Final = 100_000
"""Counted as a tree: a part that an operator repeats counts each time."""
PLAN_DEPTH_MAX: Final = 500
RELATIONS_MAX: Final = 100
"""For the relations between the commas of one FROM."""
SCANS_MAX: Final = 1_000
"""For the tables in the FROM clauses of one INSERT, with views and common tables expanded."""


def check_size(expression: Expression, span: Span) -> None:
    """Check that the expression is within the limits.

    Raises:
        Refusal: E315.
    """
    depth, size = _measure(expression)
    if depth > EXPRESSION_DEPTH_MAX:
        raise refusal(
            "E315",
            f"expression is {depth} operations deep; the limit is {EXPRESSION_DEPTH_MAX}",
            span,
            help="use brackets to make a long sum less deep: (a + b) + (c + d)",
        )
    if size > EXPRESSION_SIZE_MAX:
        raise refusal(
            "E315",
            f"expression has {size:,} operations, counting repeated operands;"
            f" the limit is {EXPRESSION_SIZE_MAX:,}",
            span,
            help="compute the repeated operand once, in a subquery",
        )


def _measure(expression: Expression) -> tuple[int, int]:
    """Return the depth and the size of an expression, with the bodies of its lambdas."""
    measures: dict[object, tuple[int, int]] = {}
    for node in walk(expression):
        below = [measures[child] for child in children(node)]
        if isinstance(node, LambdaCall):
            below.append(_measure(node.body.expression))
        depth = 1 + max((each[0] for each in below), default=0)
        measures[node] = depth, 1 + sum(each[1] for each in below)
    return measures[expression]


def check_depth(plan: Plan, span: Span) -> None:
    """Check that the plan is within the limits.

    Raises:
        Refusal: E315.
    """
    depths: dict[Plan, int] = {}
    for node in operators(plan):
        depths[node] = 1 + max((depths[below] for below in node.inputs), default=0)
    if depths[plan] > PLAN_DEPTH_MAX:
        raise refusal(
            "E315",
            f"query is {depths[plan]} operators deep after views are expanded; the limit is {PLAN_DEPTH_MAX}",
            span,
            help="write intermediate results to a table",
        )


def check_ordinals(job: Job, entries: Mapping[int, TableEntry]) -> None:
    """Check that the tables that a job reads can be numbered; `entries` are those of the script.

    Raises:
        Refusal: E319.
    """
    for table in job.tables:
        if table.ordinal >= TABLES_MAX:
            raise refusal(
                "E319",
                f'table "{table.name}" is number {table.ordinal + 1} of the script, and read;'
                f" the limit is {TABLES_MAX}",
                entries[table.ordinal].span,
                help="declare the tables that are read first, or split the script into several jobs",
            )


def check_relations(spans: Sequence[Span]) -> None:
    """Check that FROM does not have too many relations between commas.

    Raises:
        Refusal: E315.
    """
    if len(spans) > RELATIONS_MAX:
        raise refusal(
            "E315",
            f"FROM has {len(spans)} relations; the limit is {RELATIONS_MAX}",
            spans[RELATIONS_MAX],
            help="join some of the relations in a subquery",
        )
