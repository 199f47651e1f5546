"""The items of FROM: tables, subqueries, table functions and joins."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING
from typing import cast as typed

from fsql.compiler import syntax

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

_Value = syntax.Expression | syntax.TableArgument | syntax.Descriptor


def relation(span: Span, first: syntax.Relation, *joins: syntax.JoinClause) -> syntax.Joined:
    """Return `a JOIN b … JOIN c …`."""
    return syntax.Joined(span, first, joins)


def conditional_join(
    span: Span,
    kind: syntax.JoinKind,
    right: syntax.Relation,
    within: syntax.Within | None,
    condition: syntax.Expression | tuple[syntax.Identifier, ...],
) -> syntax.JoinClause:
    """Return `LEFT JOIN b ON p`, `JOIN b WITHIN 1 HOUR ON p` or `JOIN b USING (c)`."""
    if isinstance(condition, tuple):
        return syntax.JoinClause(span, kind, right, None, condition, natural=False, within=within)
    return syntax.JoinClause(span, kind, right, condition, (), natural=False, within=within)


def cross_join(span: Span, right: syntax.Relation) -> syntax.JoinClause:
    """Return `CROSS JOIN b`."""
    return syntax.JoinClause(span, "CROSS", right, None, (), natural=False)


def natural_join(span: Span, kind: syntax.JoinKind, right: syntax.Relation) -> syntax.JoinClause:
    """Return `NATURAL LEFT JOIN b`."""
    return syntax.JoinClause(span, kind, right, None, (), natural=True)


def join_kind(
    _span: Span, token: Token | None = None, left: Token | None = None
) -> syntax.JoinKind:
    """Return INNER if no kind is given; `left` is the second word of ASOF LEFT or LEFT ASOF."""
    if left is not None:
        return "ASOF LEFT"
    return "INNER" if token is None else typed("syntax.JoinKind", token.kind)


def using(_span: Span, names: tuple[syntax.Identifier, ...]) -> tuple[syntax.Identifier, ...]:
    """Return `USING (a, b)`."""
    return names


def table_reference(
    span: Span,
    name: syntax.QualifiedName,
    hints: tuple[syntax.Hint, ...],
    system_time: syntax.Expression | None,
    alias: syntax.TableAlias | None,
) -> syntax.TableReference:
    """Return `t /*+ OPTIONS(…) */ FOR SYSTEM_TIME AS OF a AS b`."""
    return syntax.TableReference(span, name, system_time, alias, hints=hints)


def file_reference(
    span: Span,
    path: syntax.StringLiteral,
    hints: tuple[syntax.Hint, ...],
    alias: syntax.TableAlias | None,
) -> syntax.TableReference:
    """Return `'orders.jsonl' /*+ OPTIONS(…) */ AS a`; without an alias the file is named `orders`."""
    if alias is None:
        stem = PurePath(path.value).name.partition(".")[0] or path.value
        alias = syntax.TableAlias(path.span, syntax.Identifier(path.span, stem))
    name = syntax.QualifiedName.of_file(path.span, path.value)
    return syntax.TableReference(span, name, None, alias, is_file=True, hints=hints)


def derived(
    span: Span, lateral: Token | None, query: syntax.Query, alias: syntax.TableAlias | None
) -> syntax.Derived:
    """Return `LATERAL (SELECT …) AS t`."""
    return syntax.Derived(span, query, lateral is not None, alias)


def unnest(
    span: Span,
    arrays: tuple[syntax.Expression, ...],
    ordinality: Token | None,
    alias: syntax.TableAlias | None,
) -> syntax.Unnest:
    """Return `UNNEST(a) WITH ORDINALITY AS t(b, c)`."""
    return syntax.Unnest(span, arrays[0], ordinality is not None, alias, arrays[1:])


def unnest_arrays(_span: Span, *each: syntax.Expression) -> tuple[syntax.Expression, ...]:
    """Return `(a, b)`."""
    return each


def table_function(
    span: Span,
    lateral: Token | None,
    name: syntax.QualifiedName,
    arguments: tuple[_Value | syntax.NamedArgument, ...],
    with_: Token | None,
    alias: syntax.TableAlias | None,
) -> syntax.TableFunction:
    """Return `TABLE(f(a))` or `f(a)`."""
    return syntax.TableFunction(
        span, name, arguments, lateral is not None, alias, with_ is not None
    )


def table_arguments(
    _span: Span, *arguments: _Value | syntax.NamedArgument
) -> tuple[_Value | syntax.NamedArgument, ...]:
    """Return the arguments of a table function."""
    return arguments


def named_argument(span: Span, name: syntax.Identifier, value: _Value) -> syntax.NamedArgument:
    """Return `name => value`."""
    return syntax.NamedArgument(span, name, value)


def whole_table(
    span: Span, table: syntax.QualifiedName | syntax.Query, partition: syntax.Expression | None
) -> syntax.TableArgument:
    """Return `TABLE t PARTITION BY (a, b)`; brackets are needed for more than one."""
    if isinstance(partition, syntax.RowConstructor):
        return syntax.TableArgument(span, table, partition.items)
    return syntax.TableArgument(span, table, () if partition is None else (partition,))


def descriptor(span: Span, names: tuple[syntax.Identifier, ...]) -> syntax.Descriptor:
    """Return `DESCRIPTOR(a)`."""
    return syntax.Descriptor(span, names)


def table_alias(
    span: Span, name: syntax.Identifier | None, columns: tuple[syntax.Identifier, ...] | None
) -> syntax.TableAlias | None:
    """Return `AS t(a, b)`, None if it is missing."""
    return None if name is None else syntax.TableAlias(span, name, columns or ())
