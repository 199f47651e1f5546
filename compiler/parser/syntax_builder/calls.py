"""Calls of functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.parser.syntax_builder.json_clauses import (
    OnEvent,
    WrappedPath,
    WrappedType,
    with_events,
)

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.parser.syntax_builder.json_clauses import Wrapper
    from fsql.compiler.text.source import Span

_Window = syntax.WindowSpecification | syntax.Identifier
_ASSIGNED: Final = {"STRUCT": "STRUCT(a := 1, b := 2)", "MAP": "MAP('k' := 1)"}
"""The constructors whose arguments have `:=`, with their forms."""
_OF_TREATED_NULLS: Final = frozenset({
    "ARRAY_AGG", "COLLECT_LIST", "FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD", "LIST", "NTH_VALUE",
})  # fmt: skip
"""The functions that take IGNORE NULLS behind them where they are the last argument of another one."""


class _Arguments(NamedTuple):
    """The contents of the brackets of a call."""

    values: tuple[syntax.Expression | syntax.Star, ...]
    distinct: bool
    order_by: tuple[syntax.OrderItem, ...]
    pairs: Span | None = None
    wrapper: Wrapper | None = None
    returning: syntax.TypeName | None = None
    events: tuple[OnEvent, ...] = ()
    assigned: tuple[_Assigned, ...] = ()
    null_treatment: str | None = None


class _Assigned(NamedTuple):
    """`a := b`."""

    span: Span
    key: syntax.Expression
    value: syntax.Expression


class _Pair(NamedTuple):
    """`KEY 'a' VALUE b`."""

    span: Span
    key: syntax.Expression
    value: syntax.Expression


class _CallEnd(NamedTuple):
    """Everything after the name of a called function."""

    arguments: _Arguments
    order_by: tuple[syntax.OrderItem, ...]
    filter: syntax.Expression | None
    null_treatment: str | None
    over: _Window | None


def call(span: Span, name: syntax.Identifier, end: _CallEnd) -> syntax.Expression:
    """Return `f(a)` with the clauses after it."""
    return _function_call(span, (name,), end)


def qualified_call(
    span: Span, qualifier: syntax.Expression, name: syntax.Identifier, end: _CallEnd
) -> syntax.Expression:
    """Return `catalog.f(a)`.

    Raises:
        FsqlError: E101 if a value is where the catalog's name is expected.
    """
    if not isinstance(qualifier, syntax.ColumnReference):
        label = Label(qualifier.span, "a value has no functions")
        help_ = f"pass the value as an argument: {name.name}(…)"
        message = f'the function "{name.name}" is called on a value'
        raise FsqlError([Diagnostic("E101", message, label, helps=(help_,))])
    return _function_call(span, (*qualifier.parts, name), end)


def _function_call(
    span: Span, parts: tuple[syntax.Identifier, ...], end: _CallEnd
) -> syntax.Expression:
    name = parts[-1].name.upper()
    if end.arguments.pairs is not None and name not in {"JSON_OBJECT", "JSON_OBJECTAGG"}:
        raise _misplaced_error("a key with a VALUE", "JSON_OBJECT", end.arguments.pairs)
    returned = end.arguments.returning
    if returned is not None and name not in {"JSON_VALUE", "JSON_QUERY"}:
        raise _misplaced_error("RETURNING", "JSON_VALUE or JSON_QUERY", returned.span)
    assigned = end.arguments.assigned
    if assigned:
        if len(parts) == 1 and name in _ASSIGNED:
            return _constructor(span, name, end.arguments)
        help_ = f'a named argument is written with "=>": {_shown_name(assigned[0].key)} => …'
        raise _misplaced_error('":="', "STRUCT or MAP", assigned[0].span, help_)
    wrapper = end.arguments.wrapper
    if wrapper is not None:
        if name != "JSON_QUERY":
            raise _misplaced_error("WRAPPER", "JSON_QUERY", wrapper.span)
        parts = (*parts[:-1], syntax.Identifier(parts[-1].span, wrapper.function))
    treatments = (end.null_treatment, end.arguments.null_treatment)
    called = syntax.FunctionCall(
        span,
        syntax.QualifiedName(parts[0].span.to(parts[-1].span), parts),
        end.arguments.values,
        distinct=end.arguments.distinct,
        order_by=end.arguments.order_by or end.order_by,
        filter=end.filter,
        ignore_nulls="IGNORE" in treatments,
        respect_nulls="RESPECT" in treatments,
        over=end.over,
    )
    if end.arguments.events:
        return with_events(name, called, returned, end.arguments.events)
    if returned is not None and name == "JSON_QUERY":
        return syntax.JsonAccess(span, called, returned, ())
    return called if returned is None else syntax.Cast(span, called, returned, safe=True)


def _constructor(
    span: Span, name: str, given: _Arguments
) -> syntax.RowConstructor | syntax.MapConstructor:
    """Return `STRUCT(a := 1)` as a row with named fields, `MAP('k' := 1)` as `MAP['k', 1]`.

    Raises:
        FsqlError: E101, if an argument has no `:=`, or a field has no name.
    """
    form = _ASSIGNED[name]
    pairs = given.assigned
    if len(pairs) < len(given.values) or given.distinct or given.order_by:
        message = f'every argument of {name} is written with ":="'
        raise FsqlError([Diagnostic("E101", message, Label(span), helps=(f"write {form}",))])
    if name == "MAP":
        items = (item for pair in pairs for item in (pair.key, pair.value))
        return syntax.MapConstructor(span, tuple(items))
    names = []
    for pair in pairs:
        if not isinstance(pair.key, syntax.ColumnReference) or len(pair.key.parts) > 1:
            label = Label(pair.key.span, 'only names are allowed before ":="')
            message = "a field of STRUCT must have a name"
            raise FsqlError([Diagnostic("E101", message, label, helps=(f"write {form}",))])
        names.append(pair.key.parts[0])
    return syntax.RowConstructor(span, tuple(pair.value for pair in pairs), tuple(names))


def _shown_name(key: syntax.Expression) -> str:
    """Return the name of an argument; that of any if it is not a name."""
    return key.parts[-1].name if isinstance(key, syntax.ColumnReference) else "name"


def _misplaced_error(what: str, name: str, span: Span, help_: str | None = None) -> FsqlError:
    label = Label(span, f"only {name} takes it")
    helps = () if help_ is None else (help_,)
    return FsqlError([Diagnostic("E101", f"{what} is not allowed here", label, helps=helps)])


def call_end(
    _span: Span,
    arguments: _Arguments,
    within_group: tuple[syntax.OrderItem, ...] | None,
    filter_: syntax.Expression | None,
    null_treatment: str | None,
    over: _Window | None,
) -> _CallEnd:
    """Return what follows the name of a function."""
    return _CallEnd(arguments, within_group or (), filter_, null_treatment, over)


def arguments(
    _span: Span,
    quantifier: Token | syntax.Star | None,
    *rest: syntax.Expression
    | _Pair
    | _Assigned
    | WrappedPath
    | tuple[syntax.OrderItem, ...]
    | syntax.TypeName
    | WrappedType
    | OnEvent
    | str
    | None,
) -> _Arguments:
    """Return `*`, or `DISTINCT a, b IGNORE NULLS ORDER BY c`."""
    if isinstance(quantifier, syntax.Star):
        return _Arguments((quantifier,), distinct=False, order_by=())
    events = tuple(part for part in rest if isinstance(part, OnEvent))
    *values, last = rest[: len(rest) - len(events)]
    treatment = values.pop()
    pairs = [value for value in values if isinstance(value, _Pair)]
    wrapped = [value.wrapper for value in values if isinstance(value, WrappedPath)]
    if isinstance(last, WrappedType):
        wrapped.append(last.wrapper)
        last = last.type
    assigned = [value for value in values if isinstance(value, _Assigned)]
    flat = [part for value in values for part in _parts(value)]
    if treatment is None and flat and isinstance(flat[-1], syntax.FunctionCall):
        flat[-1], treatment = _without_treatment(flat[-1])
    return _Arguments(
        typed("tuple[syntax.Expression, ...]", tuple(flat)),
        distinct=quantifier is not None and quantifier.kind == "DISTINCT",
        order_by=typed(
            "tuple[syntax.OrderItem, ...]",
            last if isinstance(last, tuple) else (),
        ),
        pairs=pairs[0].span if pairs else None,
        wrapper=wrapped[0] if wrapped else None,
        returning=last if isinstance(last, syntax.TypeName) else None,
        events=events,
        assigned=tuple(assigned),
        null_treatment=treatment if isinstance(treatment, str) else None,
    )


def _without_treatment(call: syntax.FunctionCall) -> tuple[syntax.FunctionCall, str | None]:
    """Return a last argument without IGNORE NULLS behind it, which belongs to the function around it.

    It belongs to the argument itself if that is a function which takes it.
    """
    treated = "IGNORE" if call.ignore_nulls else "RESPECT" if call.respect_nulls else None
    if treated is None or call.over or call.name.parts[-1].name.upper() in _OF_TREATED_NULLS:
        return call, None
    return replace(call, ignore_nulls=False, respect_nulls=False), treated


def _parts(argument: object) -> tuple[object, ...]:
    """Return the arguments for which an argument with keywords is an abbreviation."""
    match argument:
        case _Pair(key=key, value=value):
            return key, value
        case _Assigned(value=value):
            return (value,)
        case WrappedPath(path=path):
            return (path,)
        case _:
            return (argument,)


def lambda_(
    span: Span, parameters: syntax.Expression, arrow: Token, body: syntax.Expression
) -> syntax.Lambda:
    """Return `x -> a` or `(x, y) -> a`.

    Raises:
        FsqlError: E101 if the parameters are not names.
    """
    listed = parameters.items if isinstance(parameters, syntax.RowConstructor) else (parameters,)
    names = []
    for each in listed:
        if not isinstance(each, syntax.ColumnReference):
            label = Label(each.span, f'only names are allowed before "{arrow.text}"')
            help_ = "write x -> x + 1, or (total, x) -> total + x"
            message = "a parameter of a lambda must be a name"
            raise FsqlError([Diagnostic("E101", message, label, helps=(help_,))])
        names.append(each.parts[0])
    return syntax.Lambda(span, tuple(names), body)


def barred_lambda(
    span: Span, parameter: syntax.Identifier, body: syntax.Expression
) -> syntax.Lambda:
    """Return `|x| a`."""
    return syntax.Lambda(span, (parameter,), body)


def key_value(span: Span, key: syntax.Expression, value: syntax.Expression) -> _Pair:
    """Return `KEY 'a' VALUE b`."""
    return _Pair(span, key, value)


def assigned(span: Span, key: syntax.Expression, value: syntax.Expression) -> _Assigned:
    """Return `a := b`."""
    return _Assigned(span, key, value)


def on_event(span: Span, value: Token | syntax.Expression, event: Token) -> OnEvent:
    """Return `DEFAULT a ON EMPTY` or a similar clause."""
    return OnEvent(span, value, event.kind)


def null_treatment(_span: Span, token: Token | None) -> str | None:
    """Return IGNORE or RESPECT; None if neither is given."""
    return None if token is None else token.kind


# Calls with keywords inside.


def extract(span: Span, unit: syntax.Identifier, operand: syntax.Expression) -> syntax.Extract:
    """Return `EXTRACT(unit FROM a)`."""
    return syntax.Extract(span, unit.name.upper(), operand)


def round_time(
    span: Span, token: Token, operand: syntax.Expression, unit: syntax.Unit | syntax.LongUnit
) -> syntax.RoundTime:
    """Return `FLOOR(a TO unit)`."""
    return syntax.RoundTime(span, "FLOOR" if token.kind == "FLOOR" else "CEIL", operand, unit)


def long_unit(_span: Span, token: Token) -> syntax.LongUnit:
    """Return a unit of several years."""
    return typed("syntax.LongUnit", token.kind)


def substring(
    span: Span,
    token: Token,
    operand: syntax.Expression,
    start: syntax.Expression,
    length: syntax.Expression | None,
) -> syntax.FunctionCall:
    """Return `SUBSTRING(s FROM 2 FOR 3)` as SUBSTRING(s, 2, 3)."""
    values = (operand, start) if length is None else (operand, start, length)
    return syntax.FunctionCall(span, _function_name(span, token), values)


def overlay(
    span: Span,
    token: Token,
    operand: syntax.Expression,
    new: syntax.Expression,
    start: syntax.Expression,
    length: syntax.Expression | None,
) -> syntax.FunctionCall:
    """Return `OVERLAY(s PLACING a FROM 2 FOR 3)` as OVERLAY(s, a, 2, 3)."""
    values = (operand, new, start) if length is None else (operand, new, start, length)
    return syntax.FunctionCall(span, _function_name(span, token), values)


def position(
    span: Span, token: Token, part: syntax.Expression, searched: syntax.Expression
) -> syntax.FunctionCall:
    """Return `POSITION(a IN s)` as POSITION(a, s)."""
    return syntax.FunctionCall(span, _function_name(span, token), (part, searched))


def trim(
    span: Span, side: Token | None, characters: syntax.Expression | None, operand: syntax.Expression
) -> syntax.Trim:
    """Return `TRIM(LEADING 'x' FROM s)`."""
    kind = "BOTH" if side is None else side.kind
    return syntax.Trim(span, typed("syntax.TrimSide", kind), characters, operand)


def word_call(span: Span, token: Token, arguments: _Arguments) -> syntax.Expression:
    """Return a plain call of a function whose name is a keyword as well."""
    end = _CallEnd(arguments, (), None, null_treatment=None, over=None)
    return _function_call(span, _function_name(span, token).parts, end)


def niladic(
    span: Span, token: Token, digits: syntax.NumberLiteral | None = None
) -> syntax.FunctionCall:
    """Return CURRENT_TIMESTAMP or a similar call: without brackets, or with digits or nothing in them."""
    arguments = () if digits is None else (digits,)
    return syntax.FunctionCall(span, _function_name(span, token), arguments)


def _function_name(span: Span, token: Token) -> syntax.QualifiedName:
    """Return the name of the function that `token`, the first of the call and a keyword, denotes."""
    name_span = type(span)(span.start, span.start + len(token.text))
    return syntax.QualifiedName(name_span, (syntax.Identifier(name_span, token.text.upper()),))
