"""`WITH WRAPPER`, `… ON EMPTY` and `… ON ERROR` of functions of JSON; `… ON NULL` of what makes JSON.

`NULL ON NULL` and `ABSENT ON NULL` choose the function: there is one for each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple
from typing import cast as typed

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


class Wrapper(NamedTuple):
    """`WITH WRAPPER`; `function` is JSON_QUERY with that wrapper."""

    span: Span
    function: str


class WrappedPath(NamedTuple):
    """`'path' WITH WRAPPER`."""

    path: syntax.Expression
    wrapper: Wrapper


class WrappedType(NamedTuple):
    """`RETURNING type WITH WRAPPER`."""

    type: syntax.TypeName
    wrapper: Wrapper


_WORDS: Final = {
    "JSON_VALUE": ("NULL", "ERROR", "DEFAULT"),
    "JSON_QUERY": ("NULL", "ERROR", "ARRAY", "OBJECT"),
    "JSON_EXISTS": ("TRUE", "FALSE", "UNKNOWN", "ERROR"),
}
"""What the clauses of each function can begin with."""
_ORDERS: Final = {("EMPTY",), ("ERROR",), ("EMPTY", "ERROR"), ("ERROR", "EMPTY")}
_OF_NULLS: Final = {
    "JSON_OBJECT": ("JSON_OBJECT", "JSON_OBJECT_WITHOUT_NULLS"),
    "JSON_ARRAY": ("JSON_BUILD_ARRAY", "JSON_ARRAY"),
    "JSON_ARRAYAGG": ("JSON_AGG", "JSON_ARRAYAGG"),
    "JSON_OBJECTAGG": ("JSON_OBJECTAGG", "JSON_OBJECTAGG"),
}
"""The functions with NULL ON NULL and with ABSENT ON NULL."""


def with_events(
    name: str,
    called: syntax.FunctionCall,
    returned: syntax.TypeName | None,
    events: tuple[OnEvent, ...],
) -> syntax.Expression:
    """Return a call with its clauses.

    Raises:
        FsqlError: E101 for a clause that the function does not have.
    """
    if any(clause.event == "NULL" for clause in events):
        return _with_nulls(name, called, events)
    order = tuple(clause.event for clause in events)
    if order not in _ORDERS or (name == "JSON_EXISTS" and "EMPTY" in order):
        raise _misplaced(events[-1])
    ordered = sorted(events, key=lambda each: each.event)
    clauses = tuple(_clause(name, each) for each in ordered)
    return syntax.JsonAccess(called.span, called, returned, clauses)


def _with_nulls(
    name: str, called: syntax.FunctionCall, events: tuple[OnEvent, ...]
) -> syntax.FunctionCall:
    """Return the call of the function that writes or omits NULL.

    Raises:
        FsqlError: E101.
    """
    value = events[0].value
    word = value.kind if isinstance(value, Token) else ""
    if len(events) > 1 or name not in _OF_NULLS or word not in {"NULL", "ABSENT"}:
        label = Label(events[-1].span, "not allowed here")
        help_ = "write JSON_OBJECT('a' VALUE x ABSENT ON NULL) or JSON_ARRAY(x NULL ON NULL)"
        raise FsqlError([Diagnostic("E101", f"invalid clause of {name}", label, helps=(help_,))])
    absent = word == "ABSENT"
    if absent and name == "JSON_OBJECTAGG":
        return replace(called, filter=_not_null(called))
    parts = called.name.parts
    chosen = replace(parts[-1], name=_OF_NULLS[name][absent])
    return replace(called, name=replace(called.name, parts=(*parts[:-1], chosen)))


def _not_null(called: syntax.FunctionCall) -> syntax.Expression:
    """Return the condition of FILTER with which an aggregate has no NULL as its last argument."""
    span = called.span
    value = called.arguments[-1]
    assert not isinstance(value, syntax.Star)
    given = syntax.Is(span, value, "NULL", negated=True)
    if called.filter is None:
        return given
    return syntax.Logical(span, "AND", (called.filter, given))


def _clause(name: str, clause: OnEvent) -> syntax.JsonClause:
    """Return a clause as syntax.

    Raises:
        FsqlError: E101 if the function has no such clause.
    """
    value = clause.value
    word = value.kind if isinstance(value, Token) else "DEFAULT"
    if word not in _WORDS.get(name, ()):
        raise _misplaced(clause)
    default = None if isinstance(value, Token) else value
    event = typed("syntax.JsonEvent", clause.event)
    return syntax.JsonClause(clause.span, event, word, default)


def _misplaced(clause: OnEvent) -> FsqlError:
    label = Label(clause.span, f"ON {clause.event} is not allowed like this")
    help_ = (
        "write JSON_VALUE(j, '$.a' DEFAULT x ON EMPTY DEFAULT y ON ERROR),"
        " JSON_QUERY(j, '$.a' EMPTY ARRAY ON EMPTY NULL ON ERROR) or JSON_EXISTS(j, '$.a' TRUE ON ERROR)"
    )
    return FsqlError(
        [Diagnostic("E101", "invalid clause of a JSON function", label, helps=(help_,))]
    )
