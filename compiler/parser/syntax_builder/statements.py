"""Statements other than CREATE TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from fsql.compiler import syntax

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

_Parameters = tuple[syntax.Parameter, ...]

_TEMPORARY: Final = frozenset({"TEMPORARY", "TEMP"})


def script(_span: Span, *statements: syntax.Statement | None) -> tuple[syntax.Statement, ...]:
    """Return the statements; an empty text between two semicolons is not a statement."""
    return tuple(statement for statement in statements if statement is not None)


def insert(  # noqa: PLR0913, PLR0917 - what the rule has
    span: Span,
    verb: Token,
    table: syntax.QualifiedName,
    hints: tuple[syntax.Hint, ...],
    partition: tuple[syntax.PartitionValue, ...] | None,
    columns: tuple[syntax.Identifier, ...] | None,
    query: syntax.Query,
    on_conflict: syntax.OnConflict | None,
) -> syntax.Insert:
    """Return `INSERT INTO t (a, b) query`."""
    overwrite = verb.text.upper() == "OVERWRITE"
    return syntax.Insert(
        span, table, columns or (), query, partition or (), overwrite, on_conflict, hints
    )


def partition(_span: Span, *values: syntax.PartitionValue) -> tuple[syntax.PartitionValue, ...]:
    """Return `PARTITION (a = 1, b)`."""
    return values


def partition_value(
    span: Span, column: syntax.Identifier, value: syntax.Expression | None
) -> syntax.PartitionValue:
    """Return `a = 1` in PARTITION."""
    return syntax.PartitionValue(span, column, value)


def conflict(
    span: Span,
    columns: tuple[syntax.Identifier, ...] | None,
    action: str | tuple[syntax.ConflictValue, ...],
) -> syntax.OnConflict:
    """Return `ON CONFLICT (a) DO NOTHING`."""
    if isinstance(action, tuple):
        return syntax.OnConflict(span, columns or (), "UPDATE", action)
    return syntax.OnConflict(span, columns or (), action)


def conflict_word(_span: Span, *words: Token) -> str:
    """Return the action after DO: `NOTHING`, or `UPDATE FULL`."""
    return " ".join(word.text.upper() for word in words)


def conflict_update(_span: Span, *values: syntax.ConflictValue) -> tuple[syntax.ConflictValue, ...]:
    """Return `UPDATE SET a = EXCLUDED.a, b = EXCLUDED.b`."""
    return values


def conflict_value(
    span: Span, column: syntax.Identifier, value: syntax.Expression
) -> syntax.ConflictValue:
    """Return `a = EXCLUDED.a`."""
    return syntax.ConflictValue(span, column, value)


def statement_set(span: Span, *inserts: syntax.Insert | None) -> syntax.StatementSet:
    """Return `EXECUTE STATEMENT SET BEGIN … END`; an empty text between two semicolons is not a statement."""
    return syntax.StatementSet(span, tuple(each for each in inserts if each is not None))


def select_statement(span: Span, query: syntax.Query) -> syntax.SelectStatement:
    """Return a query as a statement."""
    return syntax.SelectStatement(span, query)


def explain(
    span: Span,
    stage: syntax.Identifier | None,
    statement: syntax.Insert | syntax.SelectStatement,
) -> syntax.Explain:
    """Return `EXPLAIN stage statement`."""
    return syntax.Explain(span, stage, statement)


def plan_for(_span: Span) -> None:
    """Return the stage of PLAN FOR, which names none."""


def show(span: Span, what: syntax.Identifier) -> syntax.Show:
    """Return `SHOW TABLES`."""
    return syntax.Show(span, what)


def show_create(span: Span, kind: Token, name: syntax.QualifiedName) -> syntax.ShowCreate:
    """Return `SHOW CREATE TABLE t`."""
    return syntax.ShowCreate(span, name, view=_is_view(kind))


def describe(span: Span, name: syntax.QualifiedName | syntax.StringLiteral) -> syntax.Describe:
    """Return `DESCRIBE t`, or `DESCRIBE 'rows.jsonl'`."""
    if isinstance(name, syntax.StringLiteral):
        return syntax.Describe(
            span, syntax.QualifiedName.of_file(name.span, name.value), is_file=True
        )
    return syntax.Describe(span, name)


show_columns = describe


def set_option(
    span: Span, key: syntax.StringLiteral, value: syntax.StringLiteral
) -> syntax.SetOption:
    """Return `SET 'a' = 'b'`."""
    return syntax.SetOption(span, key, value)


def reset_option(span: Span, key: syntax.StringLiteral | None) -> syntax.ResetOption:
    """Return `RESET 'a'`."""
    return syntax.ResetOption(span, key)


def drop(
    span: Span,
    attribute: Token | None,
    kind: Token,
    if_exists: Token | None,
    name: syntax.QualifiedName,
    deletion: Span | None,
) -> syntax.Drop:
    """Return `DROP TABLE IF EXISTS t`, also with DELETE TOPIC."""
    return syntax.Drop(
        span,
        name,
        view=None if kind.kind == "STREAM" else _is_view(kind),
        temporary=attribute is not None and attribute.kind in _TEMPORARY,
        if_exists=if_exists is not None,
        delete_topic=deletion,
    )


def delete_topic(span: Span) -> Span:
    """Return the place of DELETE TOPIC."""
    return span


def create_type(
    span: Span, if_not_exists: Token | None, name: syntax.Identifier, type_: syntax.TypeName
) -> syntax.CreateType:
    """Return `CREATE TYPE name AS type`."""
    return syntax.CreateType(span, name, type_, if_not_exists=if_not_exists is not None)


def drop_type(span: Span, if_exists: Token | None, name: syntax.Identifier) -> syntax.DropType:
    """Return `DROP TYPE name`."""
    return syntax.DropType(span, name, if_exists=if_exists is not None)


def _is_view(kind: Token) -> bool:
    return kind.text.upper() == "VIEW"


def create_view(
    span: Span,
    _or_replace: Token | None,
    temporary: Token | None,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    columns: tuple[syntax.Identifier, ...] | None,
    comment: syntax.StringLiteral | None,
    query: syntax.Query,
) -> syntax.CreateView:
    """Return `CREATE VIEW v AS query`; MATERIALIZED has no effect: every result is kept up to date."""
    return syntax.CreateView(
        span,
        name,
        columns or (),
        query,
        comment,
        temporary=temporary is not None and temporary.kind in _TEMPORARY,
        if_not_exists=if_not_exists is not None,
    )


def create_function(  # noqa: PLR0913, PLR0917 - what the rule has
    span: Span,
    _or_replace: Token | None,
    temporary: Token | None,
    aggregate: Token | None,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    parameters: _Parameters | tuple[syntax.StringLiteral, syntax.Identifier],
    returns: syntax.TypeName | _Parameters | None = None,
    language: syntax.Identifier | None = None,
    body: syntax.StringLiteral | None = None,
) -> syntax.CreateFunction:
    """Return `CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS 'm:f'`.

    Without parameters, the body is first, as in `CREATE FUNCTION f AS 'm:f' LANGUAGE PYTHON`.
    """
    if language is None or body is None:
        body, language = cast("tuple[syntax.StringLiteral, syntax.Identifier]", parameters)
        parameters = ()
    parameters = cast("_Parameters", parameters)
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


def create_program(
    span: Span,
    _or_replace: Token | None,
    temporary: Token | None,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    body: tuple[syntax.StringLiteral, syntax.Identifier],
) -> syntax.CreateFunction:
    """Return `CREATE PROGRAM p AS 'm:P' LANGUAGE PYTHON`."""
    return syntax.CreateFunction(
        span,
        name,
        (),
        None,
        body[1],
        body[0],
        temporary=temporary is not None,
        if_not_exists=if_not_exists is not None,
        program=True,
    )


def function_body(
    _span: Span, body: syntax.StringLiteral, language: syntax.Identifier
) -> tuple[syntax.StringLiteral, syntax.Identifier]:
    """Return `AS 'm:f' LANGUAGE PYTHON`."""
    return body, language


def parameters(_span: Span, *each: syntax.Parameter) -> _Parameters:
    """Return `(a INT, b STRING)`."""
    return each


def parameter(span: Span, name: syntax.Identifier, type_: syntax.TypeName) -> syntax.Parameter:
    """Return `a INT`."""
    return syntax.Parameter(span, name, type_)
