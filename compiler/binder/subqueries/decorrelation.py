"""Conditions between the rows of a subquery and the outer query, as equalities.

A subquery is computed once for all rows of the outer query: separately for each value of its columns that
are equal to columns of the outer query.  Where it has other comparisons, or names columns of the outer query
elsewhere than in WHERE, its rows are first joined with the distinct values of these columns:

    t, LATERAL (SELECT COUNT(*) FROM u WHERE u.a < t.a)
        →  t LEFT JOIN (SELECT d.a, COUNT(*) FROM u JOIN (SELECT DISTINCT a FROM t) AS d ON u.a < d.a
                        GROUP BY d.a) AS s ON s.a IS NOT DISTINCT FROM t.a
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.joins.join import (
    all_from,
    columns_in,
    equality_keys,
    join,
    renumber,
    shift_columns,
)
from fsql.compiler.binder.references import parts_of
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.scope import Scope, matches
from fsql.compiler.binder.subqueries.subquery import Rows
from fsql.compiler.expression import ColumnRef
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import Aggregate
from fsql.compiler.planner.rows import column_refs, filter_relation, null_safe_keys, project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


def split_conditions(
    rows: Rows, spans: SourceSpans
) -> tuple[list[tuple[Expression, Expression]], list[Expression], list[Expression]]:
    """Return the equalities as pairs over the rows and the outer query, and the other conditions.

    Those over the outer query alone are separate, and last.
    """
    equalities = equality_keys(rows.correlated, rows.width, spans)
    pairs = [pair for found in equalities.values() for pair in found]
    rest = [each for each in rows.correlated if each not in equalities]
    of_outer = [each for each in rest if all_from(each, rows.width)]
    return pairs, [each for each in rest if each not in of_outer], of_outer


def named_outside_where(
    query: syntax.Query, select: syntax.Select, rows: Rows, outer: Relation
) -> frozenset[int]:
    """Return the columns of the outer query that a subquery may name elsewhere than in its WHERE."""
    aliases = [
        each.alias
        for each in select.items
        if isinstance(each, syntax.SelectItem) and each.alias is not None
    ]
    inner, around = rows.relation.scope, Scope((outer.fields,))
    found: set[int] = set()
    for each in _outside_where(query, select):
        first, *others = each.parts
        if not others and any(matches(first, alias.name) for alias in aliases):
            continue
        known = inner.find(first) or (bool(others) and inner.find(others[0], first))
        if not known:
            fields = (around.find(others[0], first) if others else ()) or around.find(first)
            found.update(field.index for field in fields)
    return frozenset(found)


def _outside_where(query: syntax.Query, select: syntax.Select) -> Iterator[syntax.ColumnReference]:
    plain = replace(select, relations=(), where=None)
    for part in parts_of(replace(query, body=plain)):
        if isinstance(part, syntax.ColumnReference):
            yield part


def with_outer_values(
    rows: Rows,
    outer: Relation,
    used: frozenset[int],
    span: Span,
    spans: SourceSpans,
) -> tuple[Rows, dict[int, int]]:
    """Return the rows joined with the distinct values of the outer columns that their conditions compare.

    The columns `used` are among them, and visible by their names.  The conditions that remain are
    equalities, also of NULLs, and those over the outer query alone.  For each column with such values, the
    mapping has that of the outer query.
    """
    width, joined_width = rows.width, rows.relation.width
    *_, of_outer = split_conditions(rows, spans)
    between = [each for each in rows.correlated if each not in of_outer]
    compared = {i - width for each in between for i in columns_in(each) if i >= width}
    chosen = sorted(compared | used)
    own = column_refs(outer.plan)
    names = tuple(outer.plan.schema[index].name for index in chosen)
    kept = filter_relation(outer.plan, [shift_columns(each, -width, spans) for each in of_outer])
    taken = project(kept, [own[index] for index in chosen], names)
    distinct = Aggregate(taken, tuple(column_refs(taken)), names, (), ())
    places = {index: place for place, index in enumerate(chosen)}
    on = [
        renumber(each, lambda i: i if i < width else joined_width + places[i - width], spans)
        for each in between
    ]
    joined = join(rows.relation, Relation(distinct, ()), on, (), span, spans, keyed=False)
    assert joined is not None, "without an equality, the key is a constant"
    plan = joined.relation.plan
    visible = tuple(
        replace(field, index=place, column=plan.schema[place])
        for field in outer.fields
        if field.index in places and field.member is None
        for place in (joined_width + places[field.index],)
    )
    total = len(plan.schema)
    values = column_refs(plan)[joined_width:]
    equal = [
        call("eq", *pair)
        for value, index in zip(values, chosen, strict=True)
        for pair in null_safe_keys(value, ColumnRef(value.type, own[index].nullable, total + index))
    ]
    moved = [renumber(each, lambda i: i - width + total, spans) for each in of_outer]
    relation = replace(rows.relation, plan=plan, outer=visible)
    values_of = {joined_width + place: index for place, index in enumerate(chosen)}
    return Rows(relation, total, (*equal, *moved)), values_of


def equal_to_columns(
    pairs: Sequence[tuple[Expression, Expression]], first: int
) -> list[Expression]:
    """Return the equalities of the outer query's keys with the columns from `first` on."""
    return [
        call("eq", mine, ColumnRef(key.type, key.nullable, first + index))
        for index, (key, mine) in enumerate(pairs)
    ]
