"""Statements, and the elements of CREATE TABLE and CREATE FUNCTION."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

_PhysicalColumn = tuple[syntax.PhysicalColumn, syntax.PrimaryKey | None]
_TableElement = (
    _PhysicalColumn
    | syntax.ComputedColumn
    | syntax.MetadataColumn
    | syntax.Watermark
    | syntax.PrimaryKey
)
_Parameters = tuple[syntax.Parameter, ...]


def script(_span: Span, *statements: syntax.Statement | None) -> tuple[syntax.Statement, ...]:
    """Return the statements; nothing between two semicolons is none."""
    return tuple(statement for statement in statements if statement is not None)


def insert(
    span: Span,
    table: syntax.QualifiedName,
    columns: tuple[syntax.Identifier, ...] | None,
    query: syntax.Query,
) -> syntax.Insert:
    """Return `INSERT INTO t (a, b) query`."""
    return syntax.Insert(span, table, columns or (), query)


def select_statement(span: Span, query: syntax.Query) -> syntax.SelectStatement:
    """Return a query that stands by itself."""
    return syntax.SelectStatement(span, query)


def explain(
    span: Span,
    stage: syntax.Identifier | None,
    statement: syntax.Insert | syntax.SelectStatement,
) -> syntax.Explain:
    """Return `EXPLAIN stage statement`."""
    return syntax.Explain(span, stage, statement)


def create_view(
    span: Span,
    temporary: Token | None,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    columns: tuple[syntax.Identifier, ...] | None,
    query: syntax.Query,
) -> syntax.CreateView:
    """Return `CREATE VIEW v AS query`."""
    return syntax.CreateView(
        span,
        name,
        columns or (),
        query,
        temporary=temporary is not None,
        if_not_exists=if_not_exists is not None,
    )


def create_function(  # noqa: PLR0913, PLR0917 - what the rule has
    span: Span,
    temporary: Token | None,
    aggregate: Token | None,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    parameters: _Parameters,
    returns: syntax.TypeName | _Parameters,
    language: syntax.Identifier,
    body: syntax.StringLiteral,
) -> syntax.CreateFunction:
    """Return `CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS 'm:f'`."""
    return syntax.CreateFunction(
        span,
        name,
        parameters,
        returns,
        language,
        body,
        aggregate=aggregate is not None,
        temporary=temporary is not None,
        if_not_exists=if_not_exists is not None,
    )


def parameters(_span: Span, *each: syntax.Parameter) -> _Parameters:
    """Return `(a INT, b STRING)`."""
    return each


def parameter(span: Span, name: syntax.Identifier, type_: syntax.TypeName) -> syntax.Parameter:
    """Return `a INT`."""
    return syntax.Parameter(span, name, type_)


# CREATE TABLE.


def create_table(  # noqa: PLR0913, PLR0917 - what the rule has
    span: Span,
    temporary: Token | None,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    elements: tuple[_TableElement, ...] | None,
    options: tuple[syntax.TableOption, ...] | None,
    query: syntax.Query | None,
) -> syntax.CreateTable:
    """Return `CREATE TABLE t (…) WITH (…)`, its elements sorted by kind."""
    columns: list[syntax.TableColumn] = []
    watermarks: list[syntax.Watermark] = []
    keys: list[syntax.PrimaryKey] = []
    for element in elements or ():
        match element:
            case syntax.Watermark():
                watermarks.append(element)
            case syntax.PrimaryKey():
                keys.append(element)
            case (column, key):
                columns.append(column)
                keys += [] if key is None else [key]
            case _:
                columns.append(element)
    return syntax.CreateTable(
        span,
        name,
        tuple(columns),
        tuple(watermarks),
        tuple(keys),
        options or (),
        query,
        temporary=temporary is not None,
        if_not_exists=if_not_exists is not None,
    )


def table_elements(_span: Span, *elements: _TableElement) -> tuple[_TableElement, ...]:
    """Return everything between the brackets of CREATE TABLE."""
    return elements


def physical_column(
    span: Span,
    name: syntax.Identifier,
    type_: syntax.TypeName,
    not_null: bool,  # noqa: FBT001
    key: tuple[Span, bool] | None,
) -> _PhysicalColumn:
    """Return `a INT NOT NULL`, and its key if it ends with PRIMARY KEY."""
    column = syntax.PhysicalColumn(span, name, type_, not_null)
    return column, None if key is None else syntax.PrimaryKey(key[0], (name,), key[1])


def computed_column(
    span: Span, name: syntax.Identifier, expression: syntax.Expression
) -> syntax.ComputedColumn:
    """Return `a AS b + 1`."""
    return syntax.ComputedColumn(span, name, expression)


def metadata_column(
    span: Span,
    name: syntax.Identifier,
    type_: syntax.TypeName,
    not_null: bool,  # noqa: FBT001
    key: syntax.StringLiteral | None,
    virtual: Token | None,
) -> syntax.MetadataColumn:
    """Return `a BIGINT METADATA FROM 'offset' VIRTUAL`."""
    return syntax.MetadataColumn(span, name, type_, not_null, key, virtual is not None)


def key_constraint(span: Span, enforced: bool) -> tuple[Span, bool]:  # noqa: FBT001
    """Return `PRIMARY KEY NOT ENFORCED` after a column."""
    return span, enforced


def primary_key(
    span: Span,
    columns: tuple[syntax.Identifier, ...],
    enforced: bool,  # noqa: FBT001
) -> syntax.PrimaryKey:
    """Return `PRIMARY KEY (a, b) NOT ENFORCED`."""
    return syntax.PrimaryKey(span, columns, enforced)


def enforcement(_span: Span, not_: Token | None, _enforced: Token | None) -> bool:
    """Return whether the key is enforced: the standard's default."""
    return not_ is None


def watermark(
    span: Span, column: syntax.Identifier, expression: syntax.Expression | None
) -> syntax.Watermark:
    """Return `WATERMARK FOR a AS a - INTERVAL '1' SECOND`."""
    return syntax.Watermark(span, column, expression)


def table_options(_span: Span, *options: syntax.TableOption) -> tuple[syntax.TableOption, ...]:
    """Return `WITH ('a' = 'b')`."""
    return options


def table_option(
    span: Span, key: syntax.StringLiteral, value: syntax.StringLiteral
) -> syntax.TableOption:
    """Return `'a' = 'b'`."""
    return syntax.TableOption(span, key, value)
