"""Adjacent projections become one, and one that changes nothing is removed."""

from __future__ import annotations

from fsql.compiler.expression import ColumnRef, Literal
from fsql.compiler.logical import Plan, Project
from fsql.compiler.rules.columns import substitute, substitution_repeats_work
from fsql.compiler.rules.failures import failing_expressions


def merge_projects(node: Project) -> Plan | None:
    """`Project(Project(x, es), fs)` → `Project(x, fs[es])`, if the same rows fail in the same way.

    They do if no e can fail; or if fs only selects columns, and keeps the order of those that can fail, so
    that the leftmost failure, which is the reported one, remains the leftmost.  The rule does not apply
    if an expression would be computed more than once.
    """
    below = node.input
    if not isinstance(below, Project) or not _keeps_failures(below, node):
        return None
    if substitution_repeats_work(node.expressions, below.expressions):
        return None
    return Project(
        below.input,
        tuple(substitute(e, below.expressions.__getitem__) for e in node.expressions),
        node.names,
    )


def drop_identity_project(node: Project) -> Plan | None:
    """`Project(x, every column of x in order and by its name)` → `x`."""
    below = node.input.schema
    if node.names != tuple(column.name for column in below):
        return None
    picked = [e.index for e in node.expressions if isinstance(e, ColumnRef)]
    return node.input if picked == [*range(len(below))] else None


def _keeps_failures(inner: Project, outer: Project) -> bool:
    failing = failing_expressions(inner)
    if not failing:
        return True
    if not all(isinstance(expression, ColumnRef | Literal) for expression in outer.expressions):
        return False
    picked = [each.index for each in outer.expressions if isinstance(each, ColumnRef)]
    return [index for index in picked if index in failing] == failing
