"""Expressions without calls: literals, constructors, operators, subqueries, CASE and CAST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.syntax.names import generated_name
from fsql.compiler.text.limits import DEPTH_MAX

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

# Values.


def column(span: Span, name: syntax.Identifier) -> syntax.ColumnReference:
    """Return `a`."""
    return syntax.ColumnReference(span, (name,))


def number(span: Span, token: Token) -> syntax.NumberLiteral:
    """Return `1.5`."""
    return syntax.NumberLiteral(span, token.text)


def string(span: Span, token: Token) -> syntax.StringLiteral:
    """Return `'a'`."""
    return syntax.StringLiteral(span, token.text)


def octets(span: Span, token: Token) -> syntax.BytesLiteral:
    """Return `X'0aff'`."""
    return syntax.BytesLiteral(span, token.text)


def boolean(span: Span, token: Token) -> syntax.BooleanLiteral:
    """Return TRUE or FALSE."""
    return syntax.BooleanLiteral(span, token.kind == "TRUE")


def null(span: Span) -> syntax.NullLiteral:
    """Return NULL."""
    return syntax.NullLiteral(span)


def time_literal(span: Span, token: Token, value: syntax.StringLiteral) -> syntax.TimeLiteral:
    """Return `TIMESTAMP '…'`."""
    kind = {"TIMESTAMPTZ": "TIMESTAMP_LTZ"}.get(token.kind, token.kind)
    return syntax.TimeLiteral(span, typed("syntax.TimeType", kind), value)


def zoned_literal(
    span: Span, _timestamp: Token, time_zone: str, value: syntax.StringLiteral
) -> syntax.TimeLiteral:
    """Return `TIMESTAMP WITH TIME ZONE '…'`."""
    zoned = not time_zone.startswith("WITHOUT")
    return syntax.TimeLiteral(span, "TIMESTAMP_LTZ" if zoned else "TIMESTAMP", value)


def typed_literal(span: Span, token: Token, value: syntax.StringLiteral) -> syntax.Cast:
    """Return `INT '14'`, which is a cast."""
    return syntax.Cast(span, value, syntax.TypeName(span, token.text.upper()), safe=False)


def interval(
    span: Span,
    sign: Token | None,
    value: syntax.StringLiteral | syntax.NumberLiteral,
    unit: syntax.Unit | None,
    to: syntax.Unit | None = None,
) -> syntax.IntervalLiteral:
    """Return `INTERVAL '4' SECOND`, `INTERVAL 4 SECOND` or `INTERVAL '4 seconds'`."""
    negative = sign is not None and sign.kind == "MINUS"
    if isinstance(value, syntax.NumberLiteral):
        value = syntax.StringLiteral(value.span, value.text)
    return syntax.IntervalLiteral(span, value, unit, to, negative)


def unit_with_digits(_span: Span, unit_: syntax.Unit, *_digits: Token) -> syntax.Unit:
    """Return the unit of `SECOND(3)`."""
    return unit_


def unit(_span: Span, token: Token) -> syntax.Unit:
    """Return a unit of time, in the singular."""
    return typed("syntax.Unit", token.kind.removesuffix("S"))


def array_constructor(span: Span, *items: syntax.Expression) -> syntax.ArrayConstructor:
    """Return `ARRAY[a, b]`."""
    return syntax.ArrayConstructor(span, items)


def map_constructor(span: Span, *items: syntax.Expression) -> syntax.MapConstructor:
    """Return `MAP[k, v]`."""
    return syntax.MapConstructor(span, items)


def row_constructor(span: Span, *items: syntax.Expression) -> syntax.RowConstructor:
    """Return `ROW(a, b)` or `(a, b)`."""
    return syntax.RowConstructor(span, items)


# Truth values.


def expression(span: Span, *operands: syntax.Expression) -> syntax.Logical:
    """Return `p OR q`."""
    return syntax.Logical(span, "OR", operands)


def conjunction(span: Span, *operands: syntax.Expression) -> syntax.Logical:
    """Return `p AND q`."""
    return syntax.Logical(span, "AND", operands)


def not_(span: Span, operand: syntax.Expression) -> syntax.Not:
    """Return `NOT p`."""
    return syntax.Not(span, operand)


def is_(span: Span, operand: syntax.Expression, negated: Token | None, value: Token) -> syntax.Is:
    """Return `a IS NULL` or a similar test."""
    return syntax.Is(span, operand, typed("syntax.IsValue", value.kind), negated is not None)


def is_distinct(
    span: Span, left: syntax.Expression, negated: Token | None, right: syntax.Expression
) -> syntax.IsDistinct:
    """Return `a IS DISTINCT FROM b`."""
    return syntax.IsDistinct(span, left, right, negated is not None)


def comparison(
    span: Span, left: syntax.Expression, operator: Token, right: syntax.Expression
) -> syntax.Comparison:
    """Return `a < b`."""
    return syntax.Comparison(span, _comparison_operator(operator), left, right)


def _comparison_operator(token: Token) -> syntax.ComparisonOperator:
    return typed("syntax.ComparisonOperator", "<>" if token.text == "!=" else token.text)


_ELEMENT: Final = generated_name("element = ANY")


def any_element(
    span: Span,
    left: syntax.Expression,
    operator: Token,
    quantifier: Token,
    array: syntax.Expression,
) -> syntax.FunctionCall:
    """Return `a < ANY (array)` as ANY_MATCH(array, element -> a < element), with ALL as ALL_MATCH."""
    element = syntax.Identifier(span, _ELEMENT, quoted=True)
    sides: list[syntax.Expression] = [left, syntax.ColumnReference(span, (element,))]
    sign = _comparison_operator(operator)
    if sign == "=":
        sides.reverse()
    match = "ALL_MATCH" if quantifier.kind == "ALL" else "ANY_MATCH"
    body = syntax.Comparison(span, sign, *sides)
    return syntax.FunctionCall.of(span, match, array, syntax.Lambda(span, (element,), body))


def any_row(
    span: Span,
    left: syntax.Expression,
    operator: Token,
    quantifier: Token,
    query: syntax.Query,
) -> syntax.InSubquery | syntax.QuantifiedComparison:
    """Return `a < ANY (SELECT …)`; `= ANY` is IN, and `<> ALL` is NOT IN."""
    sign, every = _comparison_operator(operator), quantifier.kind == "ALL"
    if sign == ("<>" if every else "="):
        return syntax.InSubquery(span, left, query, negated=every)
    return syntax.QuantifiedComparison(span, sign, left, query, every)


def between(
    span: Span,
    operand: syntax.Expression,
    negated: Token | None,
    symmetry: Token | None,
    low: syntax.Expression,
    high: syntax.Expression,
) -> syntax.Between:
    """Return `a BETWEEN low AND high`."""
    symmetric = symmetry is not None and symmetry.kind == "SYMMETRIC"
    return syntax.Between(span, operand, low, high, negated is not None, symmetric)


def in_list(
    span: Span, operand: syntax.Expression, negated: Token | None, *items: syntax.Expression
) -> syntax.InList:
    """Return `a IN (b, c)`."""
    return syntax.InList(span, operand, items, negated is not None)


def in_subquery(
    span: Span, operand: syntax.Expression, negated: Token | None, query: syntax.Query
) -> syntax.InSubquery:
    """Return `a IN (SELECT …)`."""
    return syntax.InSubquery(span, operand, query, negated is not None)


_SIGNS: Final = {
    "~": "REGEXP_LIKE",
    "!~": "REGEXP_LIKE",
    "~*": "REGEXP_ILIKE",
    "!~*": "REGEXP_ILIKE",
    "->": "JSON_GET",
    "->>": "JSON_GET_TEXT",
}
"""The functions of signs; `!` negates them."""


def sign_match(
    span: Span, operand: syntax.Expression, token: Token, pattern: syntax.Expression
) -> syntax.Expression:
    """Return `a ~ pattern` as a call, and `a ~~ pattern`, which is LIKE."""
    negated = token.text.startswith("!")
    if token.text.endswith("~~"):
        return syntax.Like(span, operand, pattern, None, negated, ignore_case=False)
    found = syntax.FunctionCall.of(span, _SIGNS[token.text], operand, pattern)
    return syntax.Not(span, found) if negated else found


def word_match(
    span: Span,
    operand: syntax.Expression,
    negated: Token | None,
    _word: Token,
    pattern: syntax.Expression,
) -> syntax.Expression:
    """Return `a RLIKE pattern` as a call."""
    found = syntax.FunctionCall.of(span, "REGEXP_LIKE", operand, pattern)
    return syntax.Not(span, found) if negated is not None else found


def is_json(
    span: Span, operand: syntax.Expression, negated: Token | None, kind: Token | None
) -> syntax.Expression:
    """Return `a IS JSON OBJECT` as a call."""
    text = "value" if kind is None else kind.kind.lower()
    found = syntax.FunctionCall.of(span, "IS_JSON", operand, syntax.StringLiteral(span, text))
    return syntax.Not(span, found) if negated is not None else found


def json_step(
    span: Span, operand: syntax.Expression, token: Token, step: syntax.Expression
) -> syntax.FunctionCall | syntax.ArrowAccess:
    """Return `a -> 'key'` as a call, and `a->b`, which may be a field of a row, as it is."""
    if token.text == "->" and isinstance(step, syntax.ColumnReference):
        return syntax.ArrowAccess(span, operand, step.parts[0])
    if token.text in _PATHS:
        steps = _path_steps(step)
        return syntax.FunctionCall.of(span, _PATHS[token.text], operand, *steps)
    return syntax.FunctionCall.of(span, _SIGNS[token.text], operand, step)


_PATHS: Final = {"#>": "JSON_EXTRACT_PATH", "#>>": "JSON_EXTRACT_PATH_TEXT"}


def _path_steps(path: syntax.Expression) -> tuple[syntax.Expression, ...]:
    """Return the steps of `'{a,0}'` or `ARRAY['a', '0']`.

    Raises:
        FsqlError: E101 for other paths, which are not constants.
    """
    if isinstance(path, syntax.ArrayConstructor) and path.items:
        return path.items
    text = path.value.strip() if isinstance(path, syntax.StringLiteral) else ""
    if len(text) > 2 and text[0] == "{" and text[-1] == "}" and not set('"\\{}') & set(text[1:-1]):
        steps = text[1:-1].split(",")
        return tuple(syntax.StringLiteral(path.span, step.strip()) for step in steps)
    label = Label(path.span, "expected a path such as '{a,0}' or ARRAY['a', '0']")
    message = "the steps of a path of JSON are constants"
    raise FsqlError([Diagnostic("E101", message, label)])


def position_from_end(span: Span, _sign: Token, number: syntax.NumberLiteral) -> syntax.Unary:
    """Return the position of `a -> -1`."""
    return syntax.Unary(span, "-", number)


def exists(span: Span, query: syntax.Query) -> syntax.Exists:
    """Return `EXISTS (SELECT …)`."""
    return syntax.Exists(span, query)


# Arithmetic and access.


def addition(span: Span, first: syntax.Expression, *links: syntax.ChainLink) -> syntax.Chain:
    """Return `a || b & c`."""
    return syntax.Chain(span, first, links)


def addition_link(span: Span, operator: Token, operand: syntax.Expression) -> syntax.ChainLink:
    """Return an operator and its right operand: `+ b`."""
    return syntax.ChainLink(span, typed("syntax.ChainOperator", operator.text), operand)


sums = multiplication = power = addition
sums_link = multiplication_link = power_link = addition_link


def unary(span: Span, operator: Token, operand: syntax.Expression) -> syntax.Unary:
    """Return `-a`, `+a` or `~a`."""
    return syntax.Unary(span, typed("syntax.Sign", operator.text), operand)


complement = unary


def subscript(span: Span, operand: syntax.Expression, index: syntax.Expression) -> syntax.Subscript:
    """Return `a[1]`."""
    return syntax.Subscript(span, operand, index)


def searched_field(
    span: Span, operand: syntax.Expression, name: syntax.Identifier
) -> syntax.ColumnReference | syntax.FieldAccess:
    """Return `a.b`, after IN in POSITION."""
    return field(span, operand, name)


def field(
    span: Span, operand: syntax.Expression, name: syntax.Identifier
) -> syntax.ColumnReference | syntax.FieldAccess:
    """Return `a.b`: a reference with one more part, unless `a` is a value in brackets.

    Raises:
        FsqlError: E108 if the parts are too many.
    """
    if isinstance(operand, syntax.ColumnReference) and operand.span.start == span.start:
        if len(operand.parts) == DEPTH_MAX:
            label = Label(name.span, f"part {DEPTH_MAX + 1} of a name")
            message = f"the script is nested more than {DEPTH_MAX} deep"
            raise FsqlError([Diagnostic("E108", message, label)])
        return syntax.ColumnReference(span, (*operand.parts, name))
    return syntax.FieldAccess(span, operand, name)


def at_time_zone(
    span: Span, operand: syntax.Expression, zone: syntax.Expression
) -> syntax.AtTimeZone:
    """Return `a AT TIME ZONE zone`."""
    return syntax.AtTimeZone(span, operand, zone)


def array_subquery(span: Span, _array: Token, query: syntax.Query) -> syntax.ArraySubquery:
    """Return `ARRAY(SELECT …)`."""
    return syntax.ArraySubquery(span, query)


def scalar_subquery(span: Span, query: syntax.Query) -> syntax.ScalarSubquery:
    """Return `(SELECT …)` as a value."""
    return syntax.ScalarSubquery(span, query)
