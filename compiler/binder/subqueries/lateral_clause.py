"""JOIN with a lateral relation: its kind and its condition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.joins.outer_join import with_columns
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.subqueries.lateral import as_elements, gives_elements, is_over_array
from fsql.compiler.expression import Literal
from fsql.compiler.functions.calls import combine_balanced, make_case
from fsql.compiler.planner.rows import column_refs, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.expression import Expression


def keeps_outer(clause: syntax.JoinClause, functions: Functions) -> bool:
    """Return whether a lateral join keeps rows for which its relation has none.

    Raises:
        Refusal: E301 for another kind of join, or USING.
    """
    right = as_elements(clause.right)
    if clause.using or clause.natural or clause.within is not None:
        raise not_implemented(
            "USING, NATURAL and WITHIN of a lateral join",
            clause.span,
            help="write the condition in ON",
        )
    subquery = isinstance(right, syntax.Derived)
    if clause.kind == "LEFT" and (subquery or gives_elements(right, functions)):
        return True
    if clause.kind not in {"CROSS", "INNER"}:
        raise not_implemented(f"{clause.kind} JOIN of a lateral relation", clause.span)
    return False


def condition_of(clause: syntax.JoinClause) -> syntax.Expression | None:
    """Return the condition of a join; None if it is always TRUE."""
    condition = clause.condition
    always = isinstance(condition, syntax.BooleanLiteral) and condition.value
    return None if always else condition


def null_unless(joined: Relation, width: int, conditions: Sequence[Expression]) -> Relation:
    """Return a relation whose columns from `width` on are NULL where a condition is not TRUE."""
    condition, columns = combine_balanced("and", conditions), column_refs(joined.plan)
    values = [
        make_case([(condition, each)], Literal(each.type, nullable=True, value=None))
        for each in columns[width:]
    ]
    names = [column.name for column in joined.plan.schema]
    plan = project(joined.plan, [*columns[:width], *values], names)
    return replace(with_columns(joined.fields, plan), row_time=joined.row_time)


def reads_tables(written: syntax.Relation, functions: Functions) -> bool:
    """Return whether a lateral relation is a subquery that is not only over one array of each row."""
    return isinstance(written, syntax.Derived) and not is_over_array(written.query, functions)
