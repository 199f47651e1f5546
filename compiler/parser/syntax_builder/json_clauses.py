"""`… ON EMPTY` and `… ON ERROR` of JSON_VALUE, JSON_QUERY and JSON_EXISTS: a CASE over the document.

JSON_VALUE(j, p RETURNING t DEFAULT a ON EMPTY DEFAULT b ON ERROR)   →
CASE WHEN j IS NULL THEN NULL WHEN NOT j IS JSON THEN CAST(b AS t)
WHEN JSON_VALUE(j, p) IS NULL THEN CAST(a AS t)
ELSE COALESCE(TRY_CAST(JSON_VALUE(j, p) AS t), CAST(b AS t)) END
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.parser.lexer import Token

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span


class OnEvent(NamedTuple):
    """`value ON EMPTY` or `value ON ERROR`; `value` is the keyword of the value, or the default."""

    span: Span
    value: Token | syntax.Expression
    event: str


NESTED_MAX: Final = 3
"""How deep functions with clauses can be nested: the CASE of each has its document up to four times."""

_VALUES: Final = {
    "JSON_VALUE": ("NULL",),
    "JSON_QUERY": ("NULL", "ARRAY", "OBJECT"),
    "JSON_EXISTS": ("TRUE", "FALSE", "UNKNOWN"),
}
"""The keywords of each function; JSON_VALUE has DEFAULT as well."""
_ORDERS: Final = {("EMPTY",), ("ERROR",), ("EMPTY", "ERROR")}
_OF_NULLS: Final = {
    "JSON_OBJECT": "NULL",
    "JSON_OBJECTAGG": "NULL",
    "JSON_ARRAY": "ABSENT",
    "JSON_ARRAYAGG": "ABSENT",
}
"""What `… ON NULL` states of each function: only what it does with NULL in any case."""


def with_events(
    name: str,
    called: syntax.FunctionCall,
    returned: syntax.TypeName | None,
    events: tuple[OnEvent, ...],
) -> syntax.Expression:
    """Return the value of a call, or what its clauses give instead.

    Raises:
        FsqlError: E101 for a clause that the function does not have; E108 for deep nesting.
    """
    if any(clause.event == "NULL" for clause in events):
        _check_of_nulls(name, events)
        return called
    values = {clause.event: _value(name, clause, returned) for clause in events}
    order = tuple(clause.event for clause in events)
    if order not in _ORDERS or (name == "JSON_EXISTS" and "EMPTY" in order):
        raise _misplaced(events[-1])
    empty, error = values.get("EMPTY"), values.get("ERROR")
    span = called.span
    typed = called if returned is None else syntax.Cast(span, called, returned, safe=True)
    if empty is None and error is None:
        return typed
    document = called.arguments[0]
    assert not isinstance(document, syntax.Star)
    if _nesting(document, empty, error) >= NESTED_MAX:
        raise _nested_too_deeply(span)
    text = syntax.StringLiteral(span, "value")
    is_json = _call(span, "IS_JSON", document, text)
    nothing = syntax.NullLiteral(span)
    branches: list[tuple[syntax.Expression, syntax.Expression]] = [
        (syntax.Is(span, document, "NULL", negated=False), nothing),
        (syntax.Not(span, is_json), error or nothing),
    ]
    if empty is not None:
        branches.append((syntax.Is(span, called, "NULL", negated=False), empty))
    if error is not None and returned is not None:
        if empty is None:
            branches.append((syntax.Is(span, called, "NULL", negated=False), nothing))
        typed = _call(span, "COALESCE", typed, error)
    clauses = tuple(syntax.WhenClause(span, condition, result) for condition, result in branches)
    case = syntax.Case(span, None, clauses, typed)
    # The result of JSON_QUERY is a document, which JSON_OBJECT and JSON_ARRAY do not quote.
    return (
        _call(span, name, case, syntax.StringLiteral(span, "$")) if name == "JSON_QUERY" else case
    )


def _nesting(*written: object) -> int:
    """Return how deep the CASEs that stand for clauses are nested in expressions.

    A part is visited each time it is repeated, which is not often within the limit.
    """
    deepest, waiting = 0, [(each, 0) for each in written]
    while waiting:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(value, syntax.Syntax):
            # In a CASE that a user wrote, WHEN is only a part of the text.
            made = isinstance(value, syntax.Case) and value.branches[0].span == value.span
            waiting += [(part, depth + made) for part in syntax.parts(value)]
        elif isinstance(value, tuple):
            waiting += [(part, depth) for part in value]
    return deepest


def _nested_too_deeply(span: Span) -> FsqlError:
    message = f"JSON functions with ON EMPTY or ON ERROR are nested more than {NESTED_MAX} deep"
    help_ = "compute the inner ones in a subquery, or write one longer path"
    return FsqlError([Diagnostic("E108", message, Label(span), helps=(help_,))])


def _check_of_nulls(name: str, events: tuple[OnEvent, ...]) -> None:
    """Check that the clause for NULL states what the function does.

    Raises:
        FsqlError: E101.
    """
    value = events[0].value
    if len(events) > 1 or not isinstance(value, Token) or value.kind != _OF_NULLS.get(name):
        label = Label(events[-1].span, "only what the function does in any case can be written")
        help_ = (
            "remove it: objects have the keys whose value is NULL (NULL ON NULL), and arrays leave NULL out"
            " (ABSENT ON NULL)"
        )
        raise FsqlError([Diagnostic("E101", f"invalid clause of {name}", label, helps=(help_,))])


def _value(
    name: str, clause: OnEvent, returned: syntax.TypeName | None
) -> syntax.Expression | None:
    """Return the value of a clause, None for NULL.

    Raises:
        FsqlError: E101 if the function has no such clause.
    """
    span, value = clause.span, clause.value
    if not isinstance(value, Token):
        if name != "JSON_VALUE":
            raise _misplaced(clause)
        return syntax.Cast(span, value, returned or syntax.TypeName(span, "STRING"), safe=False)
    if value.kind not in _VALUES.get(name, ()):
        raise _misplaced(clause)
    match value.kind:
        case "ARRAY" | "OBJECT":
            return syntax.StringLiteral(span, "[]" if value.kind == "ARRAY" else "{}")
        case "TRUE" | "FALSE":
            return syntax.BooleanLiteral(span, value.kind == "TRUE")
        case "UNKNOWN":
            return syntax.Cast(
                span, syntax.NullLiteral(span), syntax.TypeName(span, "BOOLEAN"), safe=False
            )
        case _:
            return None


def _call(span: Span, name: str, *arguments: syntax.Expression) -> syntax.FunctionCall:
    return syntax.FunctionCall(
        span, syntax.QualifiedName(span, (syntax.Identifier(span, name),)), arguments
    )


def _misplaced(clause: OnEvent) -> FsqlError:
    label = Label(clause.span, f"ON {clause.event} is not allowed like this")
    help_ = (
        "write JSON_VALUE(j, '$.a' DEFAULT x ON EMPTY DEFAULT y ON ERROR),"
        " JSON_QUERY(j, '$.a' EMPTY ARRAY ON EMPTY NULL ON ERROR) or JSON_EXISTS(j, '$.a' TRUE ON ERROR)"
    )
    return FsqlError(
        [Diagnostic("E101", "invalid clause of a JSON function", label, helps=(help_,))]
    )
