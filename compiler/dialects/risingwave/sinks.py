"""CREATE SINK of RisingWave: a table with the rows of its query, or an INSERT INTO a table that exists.

CREATE SINK s AS q WITH (…, force_append_only = 'true')  →  … AS SELECT * EXCLUDE (op) FROM TO_CHANGELOG(
    TABLE (q), op => DESCRIPTOR(op), op_mapping => MAP['INSERT, UPDATE_AFTER', 'put'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

    _Options = tuple[syntax.TableOption, ...]

_FORCED: Final = "force_append_only"
_OF_INTO: Final = frozenset({"type", _FORCED})
_OPERATION: Final = generated_name("operation of force_append_only")


def create_sink(
    span: Span,
    _sink: Token,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    into: syntax.Insert | None,
    rows: syntax.Query,
    options: _Options | None,
    encoding: _Options | None,
) -> syntax.CreateTable | syntax.Insert:
    """Return `CREATE SINK s FROM t WITH (…)` as the table that has the rows of t.

    Raises:
        FsqlError: E213, for options of a sink into a table, which has its own.
    """
    given = (*(options or ()), *(encoding or ()))
    forced = next((each for each in given if _is_forced(each)), None)
    query = rows if forced is None else _only_rows(rows, forced.span)
    if into is not None:
        _check_options(given, into)
        return syntax.Insert(span, into.table, into.columns, query)
    return syntax.CreateTable(
        span,
        name,
        (),
        options=tuple(each for each in given if each.key.value.lower() != _FORCED),
        query=query,
        if_not_exists=if_not_exists is not None,
        sink=True,
    )


def sink_into(
    span: Span,
    _into: Token,
    table: syntax.QualifiedName,
    columns: tuple[syntax.Identifier, ...] | None,
) -> syntax.Insert:
    """Return `INTO t (a, b)`, as an INSERT that has no query yet."""
    nothing = syntax.Query(span, syntax.Select(span, distinct=False, items=()))
    return syntax.Insert(span, table, columns or (), nothing)


def sink_with(_span: Span, _with: Token, options: _Options) -> _Options:
    """Return `WITH (a = 'b')` of CREATE SINK."""
    return options


def sink_relation(span: Span, name: syntax.QualifiedName) -> syntax.Query:
    """Return the query that `FROM t` of CREATE SINK means."""
    relation = syntax.TableReference(name.span, name)
    return _select(span, syntax.Star(name.span), relation)


def _select(span: Span, item: syntax.Star, relation: syntax.Relation) -> syntax.Query:
    return syntax.Query(
        span, syntax.Select(span, distinct=False, items=(item,), relations=(relation,))
    )


def _is_forced(option: syntax.TableOption) -> bool:
    return option.key.value.lower() == _FORCED and option.value.value.lower() == "true"


def _check_options(options: _Options, into: syntax.Insert) -> None:
    for each in options:
        if each.key.value.lower() not in _OF_INTO:
            table = ".".join(part.name for part in into.table.parts)
            message = f"option '{each.key.value}' is not one of a sink into a table"
            help_ = f"remove it; the options are those of table {table}"
            raise FsqlError([Diagnostic("E213", message, Label(each.key.span), helps=(help_,))])


def _only_rows(query: syntax.Query, span: Span) -> syntax.Query:
    """Return the rows that come into the result of a query, without those that it loses."""
    operation = syntax.Identifier(span, _OPERATION, quoted=True)
    kinds = [syntax.StringLiteral(span, text) for text in ("INSERT, UPDATE_AFTER", "put")]
    function = syntax.TableFunction(
        span,
        _name(span, "TO_CHANGELOG"),
        (
            syntax.TableArgument(query.span, query),
            _named(span, "OP", syntax.Descriptor(span, (operation,))),
            _named(span, "OP_MAPPING", syntax.MapConstructor(span, tuple(kinds))),
        ),
        lateral=False,
    )
    return _select(query.span, syntax.Star(query.span, without=(operation,)), function)


def _name(span: Span, text: str) -> syntax.QualifiedName:
    return syntax.QualifiedName(span, (syntax.Identifier(span, text),))


def _named(
    span: Span, name: str, value: syntax.Expression | syntax.Descriptor
) -> syntax.NamedArgument:
    return syntax.NamedArgument(span, syntax.Identifier(span, name), value)
