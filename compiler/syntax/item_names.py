"""The names of select items without an alias.

A column or a field has its own name, a call that of the function, a cast that of its operand, CASE that of
ELSE or `case`, and a subquery that of its column.  Operators and literals have none: the item is `column2`,
by its position, and so is one whose name another item of the SELECT has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_WORDS: Final[Mapping[type, str]] = {
    syntax.Extract: "extract",
    syntax.Trim: "trim",
    syntax.Exists: "exists",
    syntax.ArrayConstructor: "array",
    syntax.ArraySubquery: "array",
    syntax.MapConstructor: "map",
    syntax.RowConstructor: "row",
}
"""The names of expressions that begin with a word."""


def name_of_position(position: int) -> str:
    """Return the name of an item that has no other, counted from 1."""
    return f"column{position}"


def written_name(expression: object) -> str | None:
    """Return the name that the form of an expression gives it; None if it gives none."""
    part = named_part(expression)
    match part:
        case syntax.ColumnReference(parts=parts):
            return parts[-1].name
        case syntax.FieldAccess(field=field) | syntax.ArrowAccess(field=field):
            return field.name
        case syntax.Case(otherwise=otherwise):
            return written_name(otherwise) or "case"
        case syntax.ScalarSubquery(query=query):
            return _subquery_name(query)
        case _:
            return _function_name(part)


def named_part(expression: object) -> object:
    """Return the part of an expression that names it: the operand of casts and subscripts."""
    while True:
        match expression:
            case syntax.Cast(operand=inside) | syntax.Subscript(operand=inside):
                expression = inside
            case syntax.JsonAccess(call=inside):
                expression = inside
            case _:
                return expression


def _subquery_name(query: syntax.Query) -> str | None:
    body = query.body
    if not isinstance(body, syntax.Select) or len(body.items) != 1:
        return None
    (item,) = body.items
    if not isinstance(item, syntax.SelectItem):
        return None
    if item.alias is not None:
        return item.alias.name
    return item.name or written_name(item.expression)


def _function_name(expression: object) -> str | None:
    match expression:
        case syntax.FunctionCall(name=name, span=span, arguments=arguments):
            # An operator that is a function has the span of the whole, since it does not name the function.
            is_named = name.span != span or not arguments
            return name.parts[-1].name.lower() if is_named else None
        case syntax.RoundTime(direction=direction):
            return direction.lower()
        case _:
            return _WORDS.get(type(expression))


def free_names(derived: Iterable[tuple[str, bool]]) -> list[str]:
    """Return the names of the items of a SELECT; each comes with whether it is derived from a function.

    A derived name that another item has already, or has as its own, is replaced by that of the position.
    """
    items = list(derived)
    taken = {name.lower() for name, is_derived in items if not is_derived}
    names: list[str] = []
    for position, (name, is_derived) in enumerate(items, 1):
        if is_derived and name.lower() in taken:
            names.append(name_of_position(position))
        else:
            taken.add(name.lower())
            names.append(name)
    return names
