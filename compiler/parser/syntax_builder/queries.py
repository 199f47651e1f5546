"""Queries: SELECT and its clauses, VALUES, set operations, WITH."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, NamedTuple
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


class _QueryEnd(NamedTuple):
    """The clauses after the body of a query."""

    order_by: tuple[syntax.OrderItem, ...] = ()
    limit: syntax.Expression | None = None
    offset: syntax.Expression | None = None
    emit: syntax.Emit | None = None


def query(
    span: Span,
    common_tables: tuple[syntax.CommonTable, ...] | None,
    body: syntax.QueryBody,
    end: _QueryEnd,
) -> syntax.Query:
    """Return `WITH … body ORDER BY … LIMIT …`; brackets around a whole query are dropped.

    Raises:
        FsqlError: E116 if an EMIT after ORDER BY or LIMIT does not belong to a SELECT.
    """
    if end.emit is not None:
        body = _add_emit(body, end.emit)
    if isinstance(body, syntax.Query) and common_tables is None and end == _QueryEnd():
        return body
    return syntax.Query(span, body, common_tables or (), end.order_by, end.limit, end.offset)


def _add_emit(body: syntax.QueryBody, emit: syntax.Emit) -> syntax.Select:
    if not isinstance(body, syntax.Select):
        label = Label(emit.span, "ends no SELECT")
        help_ = "write EMIT at the end of each SELECT, before ORDER BY and LIMIT of the whole"
        message = "the EMIT clause belongs to no SELECT"
        raise FsqlError([Diagnostic("E116", message, label, helps=(help_,))])
    if body.emit is not None:
        labels = Label(emit.span, "the second"), (Label(body.emit.span, "the first"),)
        raise FsqlError([Diagnostic("E116", "the SELECT has two EMIT clauses", *labels)])
    return dataclasses.replace(body, emit=emit)


def sorted_end(
    _span: Span,
    order_by: tuple[syntax.OrderItem, ...],
    limit: syntax.Expression | None,
    offset: syntax.Expression | None,
    emit: syntax.Emit | None,
) -> _QueryEnd:
    """Return `ORDER BY … LIMIT … OFFSET … EMIT …`."""
    return _QueryEnd(order_by, limit, offset, emit)


def limited_end(
    _span: Span,
    limit: syntax.Expression,
    offset: syntax.Expression | None,
    emit: syntax.Emit | None,
) -> _QueryEnd:
    """Return `LIMIT … OFFSET … EMIT …`."""
    return _QueryEnd(limit=limit, offset=offset, emit=emit)


def fetched_end(
    _span: Span,
    order_by: tuple[syntax.OrderItem, ...] | None,
    offset: syntax.Expression | None,
    limit: syntax.Expression,
    emit: syntax.Emit | None,
) -> _QueryEnd:
    """Return `ORDER BY … OFFSET … FETCH FIRST … ROWS ONLY EMIT …`."""
    return _QueryEnd(order_by or (), limit, offset, emit)


def offset_end(_span: Span, offset: syntax.Expression, emit: syntax.Emit | None) -> _QueryEnd:
    """Return `OFFSET … EMIT …`."""
    return _QueryEnd(offset=offset, emit=emit)


def plain_end(_span: Span) -> _QueryEnd:
    """Return nothing: the query ends with its body."""
    return _QueryEnd()


def order_by(_span: Span, *items: syntax.OrderItem) -> tuple[syntax.OrderItem, ...]:
    """Return `ORDER BY a, b`."""
    return items


def order_item(
    span: Span, expression: syntax.Expression, direction: Token | None, nulls: Token | None
) -> syntax.OrderItem:
    """Return `a DESC NULLS FIRST`."""
    descending = direction is not None and direction.kind == "DESC"
    nulls_first = None if nulls is None else nulls.kind == "FIRST"
    return syntax.OrderItem(span, expression, descending, nulls_first)


def emit(span: Span, mode: Token | None = None) -> syntax.Emit:
    """Return `EMIT CHANGES`, or `EMIT FINAL`, which may be written as `EMIT ON WINDOW CLOSE`."""
    changes = mode is not None and mode.kind == "CHANGES"
    return syntax.Emit(span, "CHANGES" if changes else "FINAL")


# WITH, set operations, VALUES.


def common_tables(_span: Span, *tables: syntax.CommonTable) -> tuple[syntax.CommonTable, ...]:
    """Return `WITH a AS …, b AS …`."""
    return tables


def common_table(
    span: Span,
    name: syntax.Identifier,
    columns: tuple[syntax.Identifier, ...] | None,
    query: syntax.Query,
) -> syntax.CommonTable:
    """Return `a(b) AS (SELECT …)`."""
    return syntax.CommonTable(span, name, columns or (), query)


def set_operation(
    span: Span, first: syntax.QueryBody, *terms: syntax.SetTerm
) -> syntax.SetOperation:
    """Return `first UNION a EXCEPT b`."""
    return syntax.SetOperation(span, first, terms)


def set_term(
    span: Span, operator: Token, quantifier: Token | None, right: syntax.QueryBody
) -> syntax.SetTerm:
    """Return `UNION ALL right`."""
    every = quantifier is not None and quantifier.kind == "ALL"
    return syntax.SetTerm(span, typed("syntax.SetOperator", operator.kind), every, right)


intersection = set_operation
intersect_term = set_term


def set_quantifier(_span: Span, token: Token | None) -> Token | None:
    """Return ALL or DISTINCT, None if it is missing."""
    return token


def values(span: Span, *rows: syntax.RowConstructor) -> syntax.Values:
    """Return `VALUES (a, b), (c, d)`."""
    return syntax.Values(span, rows)


def values_row(span: Span, *items: syntax.Expression) -> syntax.RowConstructor:
    """Return one row of VALUES."""
    return syntax.RowConstructor(span, items)


def single_value(span: Span, value: syntax.Expression) -> syntax.RowConstructor:
    """Return a row of VALUES that is a literal."""
    return syntax.RowConstructor(span, (value,))


def signed_number(span: Span, sign: Token, number: syntax.NumberLiteral) -> syntax.Unary:
    """Return the literal `-1`."""
    return syntax.Unary(span, typed("syntax.Sign", sign.text), number)


# SELECT.


def select(  # noqa: PLR0913, PLR0917 - what the rule has
    span: Span,
    hints: tuple[syntax.Hint, ...],
    quantifier: tuple[bool, tuple[syntax.Expression, ...]],
    items: tuple[syntax.SelectItem | syntax.Star, ...],
    relations: tuple[syntax.Relation, ...],
    stream_window: syntax.FunctionCall | None,
    where: syntax.Expression | None,
    group_by: tuple[syntax.Expression | syntax.GroupingSets, ...] | Literal["ALL"] | None,
    repartition: tuple[syntax.Expression, ...],
    having: syntax.Expression | None,
    windows: tuple[syntax.NamedWindow, ...],
    qualify: syntax.Expression | None,
    emit: syntax.Emit | None,
) -> syntax.Select:
    """Return one SELECT."""
    distinct, distinct_on = quantifier
    group_by_all = group_by == "ALL"
    if group_by == "ALL":
        group_by = ()
    if stream_window is not None:
        group_by = (*(group_by or ()), stream_window)
    return syntax.Select(
        span,
        distinct,
        items,
        relations,
        where,
        group_by,
        having,
        windows,
        qualify,
        emit,
        distinct_on,
        hints,
        group_by_all,
        repartition,
    )


def repartition(_span: Span, *keys: syntax.Expression | None) -> tuple[syntax.Expression, ...]:
    """Return the keys of `PARTITION BY a`; nothing without it."""
    return tuple(key for key in keys if key is not None)


def select_quantifier(
    _span: Span, first: Token | syntax.Expression | None, *others: syntax.Expression
) -> tuple[bool, tuple[syntax.Expression, ...]]:
    """Return whether DISTINCT is given, and the expressions of DISTINCT ON."""
    if isinstance(first, syntax.Syntax):
        return False, (first, *others)
    return first is not None and first.kind == "DISTINCT", ()


def select_items(
    _span: Span, *items: syntax.SelectItem | syntax.Star
) -> tuple[syntax.SelectItem | syntax.Star, ...]:
    """Return the select list."""
    return items


def select_expression(
    span: Span, expression: syntax.Expression, alias: syntax.Identifier | None
) -> syntax.SelectItem:
    """Return `a AS b`."""
    return syntax.SelectItem(span, expression, alias)


def changed_star(
    span: Span,
    star: syntax.Star,
    without: tuple[syntax.QualifiedName, ...],
    replaced: tuple[syntax.SelectItem, ...],
) -> syntax.Star:
    """Return `*` or `t.*`, with the columns of its EXCLUDE and REPLACE.

    Raises:
        FsqlError: E101 for a column with more than the name of its relation before it.
    """
    for name in without:
        if len(name.parts) > 2:
            label = Label(name.span, "more than a relation and a column")
            message = "a column after EXCLUDE has too many names"
            raise FsqlError([Diagnostic("E101", message, label, helps=("write t.a",))])
    names = tuple(name.parts[-1] for name in without)
    relations = tuple(name.parts[0] if len(name.parts) == 2 else None for name in without)
    return syntax.Star(span, star.qualifier, names, replaced, relations if any(relations) else ())


def star_without(
    _span: Span,
    _word: object = None,
    names: tuple[syntax.QualifiedName, ...] | syntax.Identifier | None = None,
) -> tuple[syntax.QualifiedName, ...]:
    """Return the names of `EXCLUDE (a, t.b)`, `EXCLUDE a` or `EXCEPT (a, t.b)`."""
    if names is None:
        return ()
    return names if isinstance(names, tuple) else (syntax.QualifiedName(names.span, (names,)),)


def excluded(_span: Span, *names: syntax.QualifiedName) -> tuple[syntax.QualifiedName, ...]:
    """Return the names of `(a, t.b)`."""
    return names


def star_replacements(
    _span: Span, *items: syntax.SelectItem | None
) -> tuple[syntax.SelectItem, ...]:
    """Return the items of `REPLACE (x + 1 AS x, …)`."""
    return tuple(item for item in items if item is not None)


def star_replacement(
    span: Span, expression: syntax.Expression, name: syntax.Identifier
) -> syntax.SelectItem:
    """Return `x + 1 AS x`."""
    return syntax.SelectItem(span, expression, name)


def star(span: Span) -> syntax.Star:
    """Return `*`."""
    return syntax.Star(span)


def qualified_star(span: Span, qualifier: syntax.Expression) -> syntax.Star:
    """Return `t.*`.

    Raises:
        FsqlError: E101 if the qualifier is not a name.
    """
    if isinstance(qualifier, syntax.ColumnReference):
        return syntax.Star(span, qualifier.parts)
    label = Label(qualifier.span, "not the name of a table")
    raise FsqlError(
        [Diagnostic("E101", 'only the columns of a table can be listed with ".*"', label)]
    )


def from_(_span: Span, *relations: syntax.Relation) -> tuple[syntax.Relation, ...]:
    """Return `FROM a, b`, nothing if it is missing."""
    return relations


def windows(_span: Span, *named: syntax.NamedWindow) -> tuple[syntax.NamedWindow, ...]:
    """Return `WINDOW w AS (…)`, nothing if it is missing."""
    return named


def named_window(
    span: Span, name: syntax.Identifier, window: syntax.WindowSpecification
) -> syntax.NamedWindow:
    """Return `w AS (…)`."""
    return syntax.NamedWindow(span, name, window)


# GROUP BY.

_Grouping = syntax.Expression | syntax.GroupingSets


def group_by_all(_span: Span) -> Literal["ALL"]:
    """Return ALL of GROUP BY ALL."""
    return "ALL"


def groupings(_span: Span, *elements: _Grouping) -> tuple[_Grouping, ...]:
    """Return the elements of GROUP BY; `(a, b)` is a and b, so that `()` alone leaves no element."""
    return tuple(each for element in elements for each in _alone(element))


def _alone(element: _Grouping) -> tuple[_Grouping, ...]:
    """Return the elements of a list in parentheses, others as they are."""
    if isinstance(element, syntax.RowConstructor) and not element.names:
        return element.items
    return (element,)


def empty_grouping(span: Span) -> syntax.RowConstructor:
    """Return `()`."""
    return syntax.RowConstructor(span, ())


def grouping_sets(
    span: Span, kind: syntax.GroupingKind, *elements: _Grouping
) -> syntax.GroupingSets:
    """Return `GROUPING SETS ((a, b), c, ())` and similar forms."""
    return syntax.GroupingSets(span, kind, tuple(map(_grouping_set, elements)))


def _grouping_set(element: _Grouping) -> tuple[syntax.Expression, ...] | syntax.GroupingSets:
    match element:
        case syntax.GroupingSets():
            return element
        case syntax.RowConstructor(items=items, names=()):
            return items
        case _:
            return (element,)


def grouping_kind(_span: Span, token: Token) -> syntax.GroupingKind:
    """Return the kind of the grouping sets."""
    return typed("syntax.GroupingKind", "GROUPING SETS" if token.kind == "SETS" else token.kind)
