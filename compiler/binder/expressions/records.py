"""ROW values: constructors, and access to fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.call_arguments import argument_error
from fsql.compiler.binder.report import Refusal, check_distinct, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.expression import Cast, Expression, FieldAccess
from fsql.compiler.functions.calls import call, make_call
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import Kind, row_of

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


def bind_row(binder: ClauseBinder, row: syntax.RowConstructor) -> Expression:
    """Bind `ROW(a, b)` and `(a, b)`, whose fields are called f1, f2 and so on, and `STRUCT(x := a)`."""
    if not row.items:
        raise refusal("E206", "the empty row has no type", row.span)
    made = call("row", *map(binder.bind, row.items))
    if not row.names:
        return made
    check_distinct(row.names, "field", "named")
    names = (name.name for name in row.names)
    named = row_of(zip(names, made.type.field_types, strict=True))
    return Cast(named, nullable=False, argument=made)


def bind_field(binder: ClauseBinder, access: syntax.FieldAccess) -> Expression:
    """Bind `f(x).field` and `a[1].field`."""
    operand = binder.bind(access.operand)
    if not operand.type.fields:
        raise _no_row(operand, access.operand.span)
    return field_of(operand, access.field)


def bind_arrow(binder: ClauseBinder, access: syntax.ArrowAccess) -> Expression:
    """Bind `row->field`; for a value that is not a ROW, `json -> key` with a column as the key."""
    operand = binder.bind(access.operand)
    if operand.type.fields:
        return field_of(operand, access.field)
    key = binder.bind(syntax.ColumnReference(access.field.span, (access.field,)))
    made = make_call("json_get", operand, key)
    if made is None:
        raise argument_error(FUNCTIONS["json_get"], "JSON_GET", [operand, key], access.span)
    return made


def _instead_of_field(type_: SqlType, name: str) -> str | None:
    """Return how parts of a value that is not a ROW are accessed, if it has parts."""
    if type_.kind is Kind.MAP:
        return f"take the value of a key: map['{name}']"
    if type_.element is not None and type_.element.fields:
        return f"take an element, array[1].{name}, or all in FROM: UNNEST(array)"
    return None


def fields(row: Expression, span: Span) -> list[tuple[str, Expression]]:
    """Return the names of the fields of a value, and the fields.

    Raises:
        Refusal: E218 if the value, which is written at `span`, is not a ROW.
    """
    if not row.type.fields:
        raise _no_row(row, span)
    return [
        (name, FieldAccess(type_, nullable=True, argument=row, index=index))
        for index, (name, type_) in enumerate(row.type.fields)
    ]


def _no_row(value: Expression, span: Span) -> Refusal:
    return refusal("E218", f"value must be a ROW, not {value.type}", span, f"this is {value.type}")


def field_of(row: Expression, name: syntax.Identifier) -> Expression:
    """Return the field of a value.

    Raises:
        Refusal: E218 if the value is not a ROW, E203 if it has no such field.
    """
    if not row.type.fields:
        raise refusal(
            "E218",
            f'{row.type} has no field "{name.name}"',
            name.span,
            "only a ROW has fields",
            help=_instead_of_field(row.type, name.name),
        )
    names = [field for field, _ in row.type.fields]
    index = next((index for index, field in enumerate(names) if matches(name, field)), None)
    if index is None:
        near = near_name(name.name, names)
        raise refusal(
            "E203",
            f'field "{name.name}" does not exist',
            name.span,
            f"the row has {names_text(names)}",
            help=f'a field with a similar name exists: "{near}"' if near else None,
        )
    return FieldAccess(row.type.field_types[index], nullable=True, argument=row, index=index)
