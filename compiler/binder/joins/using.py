"""USING and NATURAL: joins by columns of the same name, which the result contains once.

The merged column is the left one, for RIGHT JOIN the right one, for FULL JOIN the first that is not NULL. The
original columns are only found with their qualifiers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.expressions.predicates import compare
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.scope import Field, Scope, names_text
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.logical import JoinKind, Project
from fsql.compiler.planner.rows import column_refs
from fsql.compiler.syntax import Identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.expression import Expression

    Pair = tuple[Field, Field]


def merged_columns(left: Relation, right: Relation, clause: syntax.JoinClause) -> list[Pair]:
    """Return the columns of both sides that USING names, or those with equal names.

    Raises:
        Refusal: E202 if a side has no such column, E204 if it has several.
    """
    names: Sequence[Identifier] = clause.using
    if clause.natural:
        others = {field.name.lower() for field in right.named if not field.merged}
        names = [
            Identifier(clause.span, field.name, quoted=False)
            for field in left.named
            if not field.merged and field.name.lower() in others
        ]
        if not names:
            raise refusal(
                "E308",
                "NATURAL JOIN of relations that have no column of one name",
                clause.span,
                help="name the columns in ON",
            )
    return [(_only(left, name, "left"), _only(right, name, "right")) for name in names]


def _only(side: Relation, name: Identifier, which: str) -> Field:
    found = Scope((side.fields,)).find(name)
    if not found:
        known = names_text([field.name for field in side.named if not field.merged])
        raise refusal(
            "E202",
            f'the {which} side of the join has no column "{name.name}"',
            name.span,
            f"it has {known}",
        )
    if len(found) > 1:
        raise refusal(
            "E204",
            f'the {which} side of the join has several columns "{name.name}"',
            name.span,
            help="write the equality in ON",
        )
    return found[0]


def equalities(
    pairs: Sequence[Pair], left_width: int, clause: syntax.JoinClause
) -> list[Expression]:
    """Return the conditions that the columns of each pair are equal, over the columns of both sides.

    Raises:
        Refusal: E206 if the types of a pair have no common type.
    """
    spans = [name.span for name in clause.using] or [clause.span] * len(pairs)
    return [
        compare("=", (one.expression, span), (other.shift(left_width).expression, span))
        for (one, other), span in zip(pairs, spans, strict=True)
    ]


def merge(joined: Relation, pairs: Sequence[Pair], left_width: int, kind: JoinKind) -> Relation:
    """Return the join with one column for each pair, before all others."""
    if not kind.makes_pairs:
        return joined
    hidden = {one.index for one, _ in pairs} | {left_width + other.index for _, other in pairs}
    expressions, names, fields = [*column_refs(joined.plan)], [], []
    for one, other in pairs:
        value = _value(joined, one.index, left_width + other.index, kind)
        if value in expressions:
            index = expressions.index(value)
        else:
            index = len(expressions)
            expressions.append(value)
            names.append(one.name)
        fields.append((one.name, index))
    plan = joined.plan
    if names:
        own = tuple(column.name for column in plan.schema)
        plan = Project(plan, tuple(expressions), (*own, *names))
    merged = tuple(Field(None, name, index, plan.schema[index]) for name, index in fields)
    others = tuple(
        replace(field, merged=field.merged or field.index in hidden) for field in joined.fields
    )
    return Relation(plan, merged + others)


def _value(joined: Relation, left: int, right: int, kind: JoinKind) -> Expression:
    """Return the value of a merged column, in the common type of both columns."""
    refs = column_refs(joined.plan)
    both = call("coalesce", refs[left], refs[right])
    if kind is JoinKind.FULL:
        return both
    return coerce(refs[right if kind is JoinKind.RIGHT else left], both.type)
