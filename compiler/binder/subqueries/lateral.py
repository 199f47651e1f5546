"""LATERAL: relations that are computed for each row from its own arrays.

`UNNEST(array)` returns a row for each element.  A LATERAL subquery over UNNEST either filters and projects
the elements, with a row for each, or aggregates them, in one operator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeGuard

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.aggregate import AggregateCollector
from fsql.compiler.binder.constants import check_row_length
from fsql.compiler.binder.expressions.calls import bind_table_call
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.items import Item, aggregate_names, bind_items, bind_key, has_aggregate
from fsql.compiler.binder.references import has_running_call
from fsql.compiler.binder.relation import Relation, apply_alias, check_column_names
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.scope import Field, Layer, Scope, fields_of
from fsql.compiler.binder.subqueries.unnested_arrays import SERIES, bind_arrays, bind_series
from fsql.compiler.bound.select import Key
from fsql.compiler.expression import Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_case
from fsql.compiler.logical import LateralAggregate, Plan, Unnest
from fsql.compiler.planner.grouping import Groups, group
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT
from fsql.compiler.syntax.item_names import free_names, name_of_position, written_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.planner.grouping import AggregateSpec


@dataclass(frozen=True, slots=True)
class BoundElements:
    """The elements of a row's array, as columns after the row's own.

    `names` are those of the element and, if there is one, of the ordinal.  The fields of an element that is a
    row are visible.
    """

    array: Expression
    fields: Layer
    names: tuple[str, str | None]

    @property
    def ordinality(self) -> bool:
        """Return whether there are ordinals."""
        return self.names[1] is not None


Elements = syntax.Unnest | syntax.TableFunction
"""A relation with a row for each element of an array of the row before it: UNNEST, or a table function."""

_OF_MAP: Final = (
    "write AS t (key, value); in a map of COLLECT, the value says how often the key occurs"
)


def gives_elements(written: syntax.Relation, functions: Functions) -> TypeGuard[Elements]:
    """Return whether a relation is UNNEST, GENERATE_SERIES, or a table function of the script."""
    if isinstance(written, syntax.TableFunction):
        name = written.name.parts[-1].name.upper()
        return len(written.name.parts) == 1 and (name == SERIES or name in functions)
    return isinstance(written, syntax.Unnest)


def as_elements(written: syntax.Relation) -> syntax.Relation:
    """Return `LATERAL (VALUES (x, y), …) AS t` as UNNEST of an array of rows, other relations as they are.

    `LATERAL (SELECT x AS a)`, without FROM, is one row.

    Raises:
        Refusal: E209, if the rows do not have the same number of values.
    """
    if not isinstance(written, syntax.Derived) or written.alias is None:
        return written
    query, alias = written.query, written.alias
    values, names = query.body, tuple[syntax.Identifier, ...]()
    if isinstance(values, syntax.Select):
        values, names = _one_row(values)
    if not isinstance(values, syntax.Values) or query.order_by or query.limit or query.offset:
        return written
    for row in values.rows:
        check_row_length(row, values.rows[0])
    numbers = range(1, len(values.rows[0].items) + 1)
    names = names or tuple(syntax.Identifier(alias.span, f"column{each}") for each in numbers)
    array = syntax.ArrayConstructor(values.span, values.rows)
    alias = replace(alias, columns=alias.columns or names)
    return syntax.Unnest(written.span, array, ordinality=False, alias=alias)


def _one_row(
    select: syntax.Select,
) -> tuple[syntax.QueryBody, tuple[syntax.Identifier, ...]]:
    """Return `SELECT a AS b, c` without other clauses as VALUES, with the names, else the SELECT."""
    items = [each for each in select.items if isinstance(each, syntax.SelectItem)]
    plain = replace(select, items=()) == syntax.Select(select.span, distinct=False, items=())
    if not plain or len(items) < len(select.items):
        return select, ()
    row = syntax.RowConstructor(select.span, tuple(each.expression for each in items))
    names = _item_names(items)
    return syntax.Values(select.span, (row,)), names


def _item_names(items: Sequence[syntax.SelectItem]) -> tuple[syntax.Identifier, ...]:
    """Return the names of items, which those without an alias get from their expressions."""
    own = [_own_name(each) for each in items]
    found = [
        (name.name, False)
        if name is not None
        else (item.name or written_name(item.expression) or name_of_position(position), True)
        for position, (item, name) in enumerate(zip(items, own, strict=True), 1)
    ]
    return tuple(
        name or syntax.Identifier(item.span, derived)
        for item, name, derived in zip(items, own, free_names(found), strict=True)
    )


def _own_name(item: syntax.SelectItem) -> syntax.Identifier | None:
    """Return the alias of an item, or the name of its column; None if it has neither."""
    plain = item.alias is None and item.name is None
    if plain and isinstance(item.expression, syntax.ColumnReference):
        return item.expression.parts[-1]
    return item.alias


def bind_elements(outer: Relation, written: Elements, context: Context) -> BoundElements:
    """Bind `UNNEST(array) [WITH ORDINALITY] AS t(element, ordinal)`, or a table function.

    The fields of an element that is a row become separate columns.  The elements of a map are its entries.

    Raises:
        Refusal: E2xx.
    """
    binder = ExpressionBinder(
        outer.scope, "UNNEST", context.source_spans, context.functions, context.zone
    )
    if isinstance(written, syntax.TableFunction):
        called = written.name.parts[-1].name.upper()
        bind = bind_table_call if called in context.functions else bind_series
        array, name = bind(replace(binder, clause="FROM"), written), "the table function"
    else:
        array, name = bind_arrays(binder, written), "UNNEST"
    element = array.type.element
    assert element is not None
    alias = None if written.alias is None else written.alias.name.name
    default = [name for name, _ in element.fields] or [alias or "element"]
    if written.ordinality:
        default.append("ordinality")
    names = _element_names(written, default, name)
    ordinal = names[-1] if written.ordinality else None
    fields = [
        Field(alias, name, outer.width, Column(name, type_), (element, index))
        for index, (name, type_) in enumerate(zip(names, element.field_types, strict=False))
    ]
    if not element.fields:
        fields.append(Field(alias, names[0], outer.width, Column(names[0], element)))
    if ordinal is not None:
        column = Column(ordinal, BIGINT, nullable=False)
        fields.append(Field(alias, ordinal, outer.width + 1, column))
    name = (alias or "element") if element.fields else names[0]
    return BoundElements(array, tuple(fields), (name, ordinal))


def _element_names(written: Elements, default: list[str], what: str) -> list[str]:
    if written.alias is None or not written.alias.columns:
        return default
    of_map = default[:2] == ["key", "value"]
    check_column_names(written.alias.columns, len(default), what, _OF_MAP if of_map else None)
    return [column.name for column in written.alias.columns]


def unnest(outer: Relation, written: Elements, context: Context, *, left: bool = False) -> Relation:
    """Return a row for each element of each row's array; with `left`, a row of NULLs if there is none.

    Raises:
        Refusal: E2xx.
    """
    elements = bind_elements(outer, written, context)
    if left:
        return unnest_left(outer, elements)
    plan = Unnest(outer.plan, elements.array, *elements.names)
    return Relation(plan, outer.fields + elements.fields, outer.row_time)


def unnest_left(outer: Relation, elements: BoundElements) -> Relation:
    """Return `outer LEFT JOIN UNNEST(array) ON TRUE`: an empty array counts as one that contains a NULL."""
    array = elements.array
    zero = Literal(BIGINT, nullable=False, value=0)
    filled = call("gt", call("cardinality", array), zero)
    nothing = Literal(array.type, nullable=False, value=(None,))
    plan: Plan = Unnest(outer.plan, make_case([(filled, array)], nothing), *elements.names)
    if not elements.ordinality:
        return Relation(plan, outer.fields + elements.fields, outer.row_time)
    *columns, ordinal = column_refs(plan)
    numbered = make_case([(filled, ordinal)], Literal(BIGINT, nullable=True, value=None))
    plan = project(plan, [*columns, numbered], [column.name for column in plan.schema])
    *fields, last = elements.fields
    last = replace(last, column=replace(last.column, nullable=True))
    return Relation(plan, (*outer.fields, *fields, last), outer.row_time)


def bind_lateral(outer: Relation, derived: syntax.Derived, context: Context) -> Relation:
    """Return the join of `outer` with a LATERAL subquery over an array of each row.

    Raises:
        Refusal: E2xx to E4xx.
    """
    select, source = _select_over_unnest(derived, context.functions)
    elements = bind_elements(outer, source, context)
    scope = Scope((elements.fields, outer.fields))
    where = _conditions(
        ExpressionBinder(scope, "WHERE", context.source_spans, context.functions, context.zone),
        select.where,
    )
    collector = AggregateCollector(
        append_only=True, may_be_empty=not select.group_by, of_many_rows=False
    )
    binder = ExpressionBinder(
        scope, "SELECT", context.source_spans, context.functions, context.zone, collector
    )
    with context.report.whole():
        items = bind_items(binder, select, context.report)
    having = _conditions(replace(binder, clause="HAVING"), select.having)
    keys = _keys(select, replace(binder, clause="GROUP BY", aggregates=None, spans={}), items)
    if keys or having or collector.calls or select.group_by is not None:
        plan, groups = _aggregate(
            outer,
            elements,
            where,
            group(keys, [*collector.calls], aggregate_names(collector, items)),
            context.source_spans,
        )
        plan = filter_relation(plan, [groups.carry(each, binder.spans) for each in having])
        expressions = [groups.carry(item.expression, binder.spans) for item in items]
    else:
        unnested = Unnest(outer.plan, elements.array, *elements.names)
        plan = filter_relation(unnested, where)
        expressions = [item.expression for item in items]
    return _combine_fields(outer, plan, expressions, items, derived.alias)


def is_over_array(query: syntax.Query, functions: Functions) -> bool:
    """Return whether a query is a SELECT over one array, which `bind_lateral` can compute."""
    select = query.body
    if query.common_tables or query.order_by or query.limit or query.offset:
        return False
    return (
        isinstance(select, syntax.Select)
        and all(gives_elements(each, functions) for each in select.relations)
        and len(select.relations) < 2
        and not (select.windows or select.distinct_on)
        and select.qualify is None
        and not has_running_call(select.items)
    )


def _select_over_unnest(
    derived: syntax.Derived, functions: Functions
) -> tuple[syntax.Select, Elements]:
    """Return the SELECT of a LATERAL subquery and its UNNEST; other forms are not implemented."""
    query = derived.query
    simple = not (query.common_tables or query.order_by or query.limit or query.offset)
    match query.body:
        case syntax.Select(relations=(source,)) as select if simple and gives_elements(
            source, functions
        ):
            if select.windows or select.qualify is not None or select.emit is not None:
                raise not_implemented("WINDOW, QUALIFY and EMIT in LATERAL", select.span)
            if select.distinct_on:
                raise not_implemented("DISTINCT ON in LATERAL", select.distinct_on[0].span)
            return select, source
        case syntax.SetOperation():
            raise not_implemented("set operation in LATERAL", derived.span)
        case _:
            raise not_implemented(
                "LATERAL subquery that does not read one UNNEST",
                derived.span,
                help="write LATERAL (SELECT … FROM UNNEST(…) AS t(x) …)",
            )


def _conditions(binder: ClauseBinder, condition: syntax.Expression | None) -> list[Expression]:
    return [] if condition is None else [binder.bind_condition_and_check_size(condition)]


def _keys(select: syntax.Select, binder: ClauseBinder, items: Sequence[Item]) -> list[Key]:
    """Return the keys by which the elements are grouped; DISTINCT groups by all select items."""
    keys = [bind_key(binder, element, items) for element in select.group_by or ()]
    if not select.distinct:
        return keys
    if keys or any(has_aggregate(item.expression) for item in items):
        raise not_implemented("DISTINCT of aggregates in LATERAL", select.span)
    return [Key(item.expression, item.name, item.span) for item in items]


def _aggregate(
    outer: Relation,
    elements: BoundElements,
    where: Sequence[Expression],
    grouping: AggregateSpec,
    source_spans: SourceSpans,
) -> tuple[Plan, Groups]:
    """Return the aggregate of each row's elements, and the mapping to its columns."""
    plan = LateralAggregate(
        outer.plan,
        elements.array,
        elements.ordinality,
        combine_balanced("and", where) if where else None,
        grouping.keys,
        grouping.key_names,
        grouping.aggregates,
        grouping.aggregate_names,
    )
    names = [column.name for column in outer.plan.schema]
    names += [name for name in elements.names if name is not None]
    return plan, Groups(grouping.key_indexes, outer.width, tuple(names), source_spans)


def _combine_fields(
    outer: Relation,
    plan: Plan,
    expressions: Sequence[Expression],
    items: Sequence[Item],
    alias: syntax.TableAlias | None,
) -> Relation:
    """Return the outer row's columns, followed by the subquery's."""
    names = [*(column.name for column in outer.plan.schema), *(item.name for item in items)]
    plan = project(plan, [*column_refs(outer.plan), *expressions], names)
    inner = Relation(plan, fields_of(plan.schema, None)[outer.width :])
    return Relation(plan, outer.fields + apply_alias(inner, alias).fields, outer.row_time)
