"""Which relations of FROM depend on relations before the comma that precedes them.

    FROM a, b CROSS JOIN UNNEST(a.x)

Relations between commas are bound by themselves, so that any equality in WHERE may join them.  A lateral
relation in one of them that names columns of another needs the relations before it to be joined first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.references import parts_of
from fsql.compiler.binder.scope import matches
from fsql.compiler.binder.subqueries.lateral import as_elements, gives_elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.scope import Field

_PADDING = frozenset({"RIGHT", "FULL"})


def is_lateral(written: syntax.Relation, functions: Functions) -> bool:
    """Return whether a relation may depend on the relations before it."""
    lateral = isinstance(written, syntax.Derived) and written.lateral
    return lateral or gives_elements(written, functions)


def first_dependent(
    written: syntax.Relation, before: Iterable[Relation], functions: Functions
) -> int | None:
    """Return the number of the first relation of joins that depends on relations before the comma.

    That after the comma has number 0.  None: none depends on them, or an outer join may pad them with NULL.
    """
    if not isinstance(written, syntax.Joined):
        return None
    if any(clause.kind in _PADDING for clause in written.joins):
        return None
    relations = (written.first, *(clause.right for clause in written.joins))
    fields = [field for relation in before for field in relation.fields]
    if is_lateral(written.first, functions) and (
        isinstance(written.first, syntax.Derived) or _names_any(written.first, fields, ())
    ):
        return 0
    own = [name for relation in relations if (name := _name_of(relation)) is not None]
    for number, relation in enumerate(relations[1:], 1):
        if is_lateral(relation, functions) and _names_any(relation, fields, own):
            return number
    return None


def _names_any(
    written: syntax.Relation, fields: Sequence[Field], own: Sequence[syntax.Identifier]
) -> bool:
    """Return whether a lateral relation names one of the fields, and not a relation called as in `own`.

    A column without a relation's name in a subquery is taken for one of the subquery.
    """
    elements = as_elements(written)
    in_subquery = isinstance(elements, syntax.Derived)
    for part in parts_of(elements):
        if not isinstance(part, syntax.ColumnReference):
            continue
        first, *others = part.parts
        if any(matches(first, name.name) for name in own):
            continue
        if others and any(matches(first, field.qualifier) for field in fields):
            return True
        if not in_subquery and any(matches(first, field.name) for field in fields):
            return True
    return False


def _name_of(relation: syntax.Relation) -> syntax.Identifier | None:
    """Return the name by which columns of a relation can be qualified, if it has one."""
    if isinstance(relation, syntax.Joined):
        return None
    if relation.alias is not None:
        return relation.alias.name
    return relation.name.parts[-1] if isinstance(relation, syntax.TableReference) else None
