"""Queries that read no table: SELECT without FROM, and VALUES.

They read a static table of one row.  Several rows of VALUES are the elements of an array of that row:

    VALUES (1, 'a'), (2, 'b')        FROM one row CROSS JOIN UNNEST(ARRAY[ROW(1, 'a'), ROW(2, 'b')])

so they are in the order of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import TableEntry
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.scope import Scope, quantity_text
from fsql.compiler.binder.tables import scan_table
from fsql.compiler.diagnostics import Label
from fsql.compiler.expression import ColumnRef, Expression, FieldAccess, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import accepts, coerce, exact_literals
from fsql.compiler.logical import TimeKind, Unnest
from fsql.compiler.planner.rows import project
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, NULL, Kind
from fsql.compiler.text.source import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.connectors import Declarations
    from fsql.compiler.logical import Plan
    from fsql.compiler.sqltypes import SqlType


ONE_ROW: Final = "(one row)"
"""The name of the table in messages and plans; a script would have to quote it."""
_CONNECTOR: Final = "one_row"


def one_row_entry(ordinal: int, declared: Declarations) -> TableEntry:
    """Return the declaration of the table with one row."""
    connector = declared.connector(_CONNECTOR)
    assert connector is not None, "queries without FROM need the connector one_row"
    return TableEntry(
        name=ONE_ROW,
        span=Span(0, 0),
        ordinal=ordinal,
        columns=(Column("number", BIGINT, nullable=False),),
        computed=(),
        connector=connector,
        format=None,
        options=(("connector", _CONNECTOR),),
        option_spans={},
        primary_key=None,
        time=TimeKind.START,
        event_time=None,
        delay_us=0,
        grain_us=1_000,
    )


def one_row(context: Context, span: Span) -> Relation:
    """Return a relation with one row and no named columns."""
    return Relation(scan_table(context.one_row(), context, span), ())


def one_row_of(select: syntax.Select, context: Context) -> Relation:
    """Return the relation that a SELECT without FROM reads.

    Raises:
        Refusal: E317, if it selects `*`.
    """
    for item in select.items:
        if isinstance(item, syntax.Star):
            raise refusal("E317", "SELECT * without FROM", item.span, help="add FROM")
    return one_row(context, select.span)


def bind_values(
    values: syntax.Values, context: Context, wanted: Sequence[SqlType | None] = ()
) -> Plan:
    """Return the rows of VALUES, in their order; the columns are called column1, column2 and so on.

    `wanted` are the types of the columns that an INSERT writes: literals that can have these types get them.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several rows were refused.
    """
    rows = _bind_rows(values, context)
    scan = one_row(context, values.span).plan
    columns = [
        _column(list(column), type_)
        for column, type_ in zip(
            zip(*rows, strict=True), [*wanted, *[None] * len(rows[0])], strict=False
        )
    ]
    names = [f"column{index}" for index in range(1, len(columns) + 1)]
    if len(rows) == 1:
        return project(scan, [value for (value,) in columns], names)
    fields = [column for column in columns if column[0].type.kind is not Kind.NULL]
    zeros: list[Expression] = [Literal(BIGINT, nullable=False, value=0)] * len(rows)
    array = call("array", *(call("row", *row) for row in zip(*(fields or [zeros]), strict=True)))
    assert array.type.element is not None
    plan = Unnest(scan, array, "values", None)
    element = ColumnRef(array.type.element, nullable=True, index=len(scan.schema))
    expressions: list[Expression] = []
    for column in columns:
        if column[0].type.kind is Kind.NULL:
            expressions.append(Literal(NULL, nullable=True, value=None))
        else:
            expressions.append(_field(element, fields.index(column), column))
    return project(plan, expressions, names)


def _bind_rows(
    values: syntax.Values, context: Context
) -> list[tuple[tuple[Expression, Span], ...]]:
    """Return the values of each row with their spans.

    Raises:
        Refusal: E209, if the rows do not have the same number of values.
        Abandoned: where rows were refused.
    """
    binder = ExpressionBinder(
        Scope(((),)), "VALUES", context.source_spans, context.functions, context.zone
    )
    rows: list[tuple[tuple[Expression, Span], ...]] = []
    with context.report.whole():
        for row in values.rows:
            with context.report.part():
                check_row_length(row, values.rows[0])
                rows.append(
                    tuple((binder.bind_and_check_size(item), item.span) for item in row.items)
                )
    return rows


def check_row_length(row: syntax.RowConstructor, first: syntax.RowConstructor) -> None:
    """Check that a row of VALUES has as many values as the first one.

    Raises:
        Refusal: E209.
    """
    if len(row.items) != len(first.items):
        raise refusal(
            "E209",
            f"row of VALUES has {quantity_text(len(row.items), 'value')}, and the first has"
            f" {len(first.items)}",
            row.span,
            secondary=(Label(first.span, "first row"),),
        )


def _column(values: list[tuple[Expression, Span]], wanted: SqlType | None) -> list[Expression]:
    """Return the values of a column, in their common type.

    Raises:
        Refusal: E206.
    """
    if wanted is not None:
        values = [(_coerce(each, wanted), span) for each, span in values]
    if len(values) == 1:
        return [values[0][0]]
    return unify(values, "values of a column are {} and {}")


def _coerce(value: Expression, wanted: SqlType) -> Expression:
    """Return a value as one of the column to which it is written, if possible; a literal remains exact."""
    exact, _ = exact_literals([value, Literal(wanted, nullable=True, value=None)])
    return coerce(exact, wanted) if accepts(exact, wanted) else exact


def _field(element: Expression, index: int, column: Sequence[Expression]) -> Expression:
    """Return a field of the element; it is never NULL if none of the values can be.

    The second argument of COALESCE is then never computed; it only makes the type NOT NULL.
    """
    field = FieldAccess(column[0].type, nullable=True, argument=element, index=index)
    if any(value.nullable for value in column):
        return field
    return call("coalesce", field, column[0])
