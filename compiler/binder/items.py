"""Select items and GROUP BY: the output columns of a SELECT, and its grouping."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.binder.expressions import records
from fsql.compiler.binder.expressions.pseudo_columns import pseudo_column
from fsql.compiler.binder.report import no_column, not_implemented, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.bound.pending import AggregateValue, GroupingValue, RunningValue
from fsql.compiler.bound.select import Key
from fsql.compiler.expression import ColumnRef, Expression, FieldAccess, Literal
from fsql.compiler.node import walk
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import NULL
from fsql.compiler.syntax.item_names import free_names, name_of_position, named_part, written_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.binder.aggregates.aggregate import AggregateCollector
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.binder.scope import Field
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.text.source import Span


_REFUSED: Final = Literal(NULL, nullable=True, value=None)


@dataclass(frozen=True, slots=True)
class Item:
    """An output column of a SELECT; `alias` is its explicit name, if any.

    A `derived_name` is that of a part, such as the function: see `item_names`.
    One that was `refused` is NULL, and no other part of the SELECT can refer to it.  `join_name` is the name
    that a column of a join also has, if that is another one.
    """

    expression: Expression
    name: str
    span: Span
    alias: syntax.Identifier | None
    refused: bool = False
    derived_name: bool = False
    join_name: str | None = None


def bind_items(binder: ClauseBinder, select: syntax.Select, report: Report) -> list[Item]:
    """Return the columns of a SELECT, with `*` expanded.

    A refused item is recorded and replaced by NULL, so that positions in GROUP BY remain valid.
    """
    items: list[Item] = []
    for written in select.items:
        bound: list[Item] = []
        with report.part():
            if isinstance(written, syntax.Star):
                bound = list(_star(binder, written))
            else:
                bound = [_item(binder, written, position=len(items) + 1)]
        items += bound or [_refused(written)]
    names = free_names((item.name, item.derived_name) for item in items)
    return [replace(item, name=name) for item, name in zip(items, names, strict=True)]


def _refused(written: syntax.SelectItem | syntax.Star) -> Item:
    alias = written.alias if isinstance(written, syntax.SelectItem) else None
    return Item(_REFUSED, "", written.span, alias, refused=True)


def refused_names(items: Sequence[Item]) -> frozenset[str]:
    """Return the aliases of refused items, in lower case."""
    return frozenset(each.alias.name.lower() for each in items if each.refused and each.alias)


def item_aliases(items: Sequence[Item]) -> dict[str, Expression]:
    """Return the expressions of the items by their aliases in lower case."""
    return {
        item.alias.name.lower(): item.expression
        for item in items
        if item.alias is not None and not item.refused
    }


def _item(binder: ClauseBinder, written: syntax.SelectItem, *, position: int) -> Item:
    expression = binder.bind_and_check_size(written.expression)
    if written.alias is not None:
        name = written.alias.name
    elif written.name is not None:
        return Item(expression, written.name, written.expression.span, None, derived_name=True)
    elif isinstance(written.expression, syntax.ColumnReference):
        name = _name_of(binder, written.expression)
    elif isinstance(written.expression, syntax.FieldAccess | syntax.ArrowAccess):
        name = written.expression.field.name
    else:
        part = named_part(written.expression)
        own = _name_of(binder, part) if isinstance(part, syntax.ColumnReference) else None
        found = own or written_name(part) or name_of_position(position)
        return Item(expression, found, written.expression.span, None, derived_name=True)
    other = None
    if written.alias is None and isinstance(written.expression, syntax.ColumnReference):
        other = _join_name_of(binder, written.expression)
    return Item(expression, name, written.expression.span, written.alias, join_name=other)


def _join_name_of(binder: ClauseBinder, reference: syntax.ColumnReference) -> str | None:
    """Return the other name of a column: with that of its relation if several have such a column."""
    name = reference.parts[-1]
    found = binder.scope.find(name)
    if not found or len(reference.parts) > 2:
        return None
    if len(reference.parts) == 1:
        return found[0].join_name if matches(name, found[0].name) else None
    own = [field for field in found if matches(reference.parts[0], field.qualifier)]
    if not own or not matches(name, own[0].name):
        return None
    return own[0].join_name if len(found) == 1 else _with_relation(own[0])


def _with_relation(field: Field) -> str | None:
    """Return the other name that a column has in `*` of a join."""
    return field.qualifier and f"{field.qualifier}_{field.join_name or field.name}"


def _name_in_star(binder: ClauseBinder, field: Field) -> str | None:
    joined = len({each.qualifier for each in binder.scope.fields}) > 1
    return _with_relation(field) if joined else field.join_name


def _name_of(binder: ClauseBinder, reference: syntax.ColumnReference) -> str:
    """Return the name of a column or field as declared; that of a time that is no column as written."""
    if not binder.scope.find(reference.parts[-1]) and pseudo_column(binder.scope, reference):
        return reference.parts[-1].name
    found, inside = binder.resolve(reference)
    type_ = found.column.type
    name = found.name
    if found.join_name and not inside and not matches(reference.parts[-1], name):
        return found.join_name
    for part in inside:
        name, type_ = next(field for field in type_.fields if matches(part, field[0]))
    return name


class _StarColumn(NamedTuple):
    """A column of `*`: its name, the one that it also has by a join, and the name of its relation."""

    name: str
    expression: Expression
    join_name: str | None
    relation: str | None


def _star(binder: ClauseBinder, star: syntax.Star) -> Iterator[Item]:
    """Yield an item for each visible column, or for those that the star's qualifier has."""
    columns = _columns_of(binder, star)
    replaced = {each.alias: each for each in star.replaced if each.alias is not None}
    named = [*zip_longest(star.without, star.relations), *((name, None) for name in replaced)]
    _check_named_columns(star, named, columns)
    for column, expression, join_name, relation in columns:
        name = next((name for name, of in named if _names(name, of, column, relation)), None)
        if name in replaced:
            yield Item(
                binder.bind_and_check_size(replaced[name].expression),
                column,
                replaced[name].span,
                None,
            )
        elif name is None:
            binder.spans[expression] = star.span
            binder.place_columns(expression, star.span)
            yield Item(expression, column, star.span, None, join_name=join_name)


def _columns_of(binder: ClauseBinder, star: syntax.Star) -> list[_StarColumn]:
    """Return the columns of `*`, of the relation t for `t.*`, or the fields of the ROW a for `a.*`.

    Raises:
        Refusal: E203 to E220.
    """
    fields = [each for each in binder.scope.fields if not each.hidden]
    if not star.qualifier:
        own = [field for field in fields if not field.merged]
        return [_star_column(binder, each) for each in own]
    (first, *inside) = star.qualifier
    own = [each for each in fields if matches(first, each.qualifier)]
    if own and not inside:
        return [_star_column(binder, each) for each in own]
    if not own and not binder.scope.find(first):
        known = names_text(binder.scope.qualifiers())
        label = f"FROM has {known}" if known else ""
        raise refusal("E203", f'table "{first.name}" is not in FROM', first.span, label)
    span = first.span.to(star.qualifier[-1].span)
    row = binder.bind_and_check_size(syntax.ColumnReference(span, star.qualifier))
    return [_StarColumn(name, field, None, None) for name, field in records.fields(row, span)]


def _star_column(binder: ClauseBinder, each: Field) -> _StarColumn:
    return _StarColumn(each.name, each.expression, _name_in_star(binder, each), each.qualifier)


def _names(
    name: syntax.Identifier, of: syntax.Identifier | None, column: str, relation: str | None
) -> bool:
    """Return whether `name`, or `of.name`, is that column of a relation."""
    return matches(name, column) and (of is None or matches(of, relation))


def _check_named_columns(
    star: syntax.Star,
    names: Sequence[tuple[syntax.Identifier, syntax.Identifier | None]],
    columns: Sequence[_StarColumn],
) -> None:
    """Check that each name after a star is one of the star's columns, and occurs once.

    Raises:
        Refusal: E203, E205, E209 if no column is left.
    """
    for index, (name, of) in enumerate(names):
        found = [each for each in columns if _names(name, of, each.name, each.relation)]
        if not found:
            shown = [each.name for each in columns if of is None or matches(of, each.relation)]
            raise no_column(name, shown, label=f"not a column of {of.name if of else '*'}")
        column = found[0]
        if any(_names(*other, column.name, column.relation) for other in names[:index]):
            raise refusal("E205", f'"{name.name}" is named twice after *', name.span)
    without = [*zip_longest(star.without, star.relations)]
    if all(
        any(_names(*each, column.name, column.relation) for each in without) for column in columns
    ):
        raise refusal(
            "E209", "EXCLUDE leaves no column of *", star.span, help="keep at least one column"
        )


def bind_key(
    binder: ClauseBinder,
    element: syntax.Expression | syntax.GroupingSets,
    items: Sequence[Item],
) -> Key:
    """Return a key of GROUP BY: the number or alias of an item, or an expression.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if isinstance(element, syntax.GroupingSets):
        raise not_implemented(element.kind, element.span)
    item = _item_meant(binder, element, items)
    expression = (
        binder.bind_and_check_size(element) if item is None else _check_key(item, element.span)
    )
    return Key(expression, _key_name(expression, items, binder), element.span)


def _item_meant(
    binder: ClauseBinder, element: syntax.Expression, items: Sequence[Item]
) -> Item | None:
    """Return the select item to which a key refers by number or alias; None if it is an expression."""
    if isinstance(element, syntax.NumberLiteral) and element.text.isdigit():
        position = int(element.text) if len(element.text) < 9 else 0
        if not 1 <= position <= len(items):
            raise refusal(
                "E316",
                f"GROUP BY {element.text} is not a column of SELECT, which has {len(items)}",
                element.span,
            )
        return items[position - 1]
    if not isinstance(element, syntax.ColumnReference) or len(element.parts) > 1:
        return None
    (name,) = element.parts
    apply_alias = [
        item for item in items if item.alias and not item.refused and matches(name, item.alias.name)
    ]
    fields = binder.scope.find(name)
    if not apply_alias:
        return None
    # A name in GROUP BY is a column of the input before it is an alias.
    return None if fields else apply_alias[0]


def _check_key(item: Item, span: Span) -> Expression:
    if has_aggregate(item.expression):
        raise refusal(
            "E303",
            "aggregate in GROUP BY",
            span,
            f'"{item.name}" is computed from groups',
            note="GROUP BY is evaluated for each input row",
        )
    return item.expression


def _key_name(expression: Expression, items: Sequence[Item], binder: ClauseBinder) -> str:
    """Return the name of the select item that equals the key, or of the column to which the key refers."""
    for item in items:
        if item.expression is expression:
            return item.name
    if isinstance(expression, ColumnRef):
        fields = (field for layer in binder.scope.layers for field in layer)
        return next(field.name for field in fields if field.index == expression.index)
    if isinstance(expression, FieldAccess):
        return expression.argument.type.fields[expression.index][0]
    return "key"


def has_aggregate(expression: Expression) -> bool:
    """Return whether the expression is computed from an aggregate or a running aggregate."""
    return any(
        isinstance(node, (AggregateValue, GroupingValue, RunningValue)) for node in walk(expression)
    )


def aggregate_names(collector: AggregateCollector, items: Sequence[Item]) -> tuple[str, ...]:
    """Return a name for each aggregate: that of the item that it is, or of its function."""
    names = list(collector.names())
    for item in reversed(items):
        if isinstance(item.expression, AggregateValue) and item.alias is not None:
            names[item.expression.index] = item.name
    return tuple(names)
