"""Verifies bound expressions, as a part of `verify_logical`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    InSet,
    LambdaCall,
    LambdaFunction,
    Literal,
    TryCast,
)
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.signature import match_signature
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.node import walk
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    FLOATING,
    INTEGER_RANGES,
    STRUCTURED,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

_RANGES = {
    **INTEGER_RANGES,
    Kind.INTERVAL: (BIGINT_MIN, BIGINT_MAX),
    Kind.MONTHS: (BIGINT_MIN, BIGINT_MAX),
    Kind.DATE: (DATE_MIN, DATE_MAX),
    Kind.TIME: (0, DAY_US - 1),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MAX),
}


def verify_expression(  # noqa: C901 - one a form
    expression: Expression, below: Schema
) -> Iterator[str]:
    """Yield the violations in `expression` over rows that have the columns `below`."""
    for node in walk(expression):
        match node:
            case ColumnRef():
                yield from _reference(node, below)
            case Literal(value=value, type=kind, nullable=nullable):
                if not _has_type(value, kind) or (value is None and not nullable):
                    yield f"{value!r} is not a literal of type {kind}"
            case Call():
                yield from _call(node)
            case Cast() | TryCast():
                yield from _cast(node)
            case Case():
                yield from _case(node)
            case FieldAccess():
                yield from _field(node)
            case InSet():
                yield from _in_set(node)
            case LambdaCall():
                yield from _lambda(node)
            case _:
                yield f"{type(node).__name__} is not an expression"


def _reference(reference: ColumnRef, below: Schema) -> Iterator[str]:
    if not 0 <= reference.index < len(below):
        yield f"there is no column {reference.index} among {len(below)}"
        return
    column = below[reference.index]
    if column.type != reference.type:
        yield f"column {column} is referred to as a {reference.type}"
    if column.nullable and not reference.nullable:
        yield f"column {column} may be NULL and is referred to as if it could not"


def _cast(cast: Cast | TryCast) -> Iterator[str]:
    if not castable(cast.argument.type, cast.type):
        yield f"there is no cast from {cast.argument.type} to {cast.type}"
    if isinstance(cast, TryCast) and not cast.nullable:
        yield "TRY_CAST is declared NOT NULL"


def _field(access: FieldAccess) -> Iterator[str]:
    index, row = access.index, access.argument.type
    if row.field_types[index : index + 1] != (access.type,):
        yield f"field {index} of {row} is not a {access.type}"


def _in_set(test: InSet) -> Iterator[str]:
    given = test.argument.type
    if test.type != BOOLEAN or given.kind in {*STRUCTURED, Kind.NULL}:
        yield f"IN of a {given} is a {test.type}"
    if not all(_has_type(value, given) for value in test.values):
        yield f"IN of a {given} has values of other types"
    if None in test.values and not test.nullable:
        yield "IN with NULL among its values is declared NOT NULL"


def _lambda(call: LambdaCall) -> Iterator[str]:
    name, body = call.function.value, call.body.expression
    element = call.arguments[0].type.element
    if element is None:
        yield f"{name} is of a {call.arguments[0].type}"
        return
    types = [element, *(each.type for each in call.captured)]
    wanted = {
        LambdaFunction.TRANSFORM: call.type.element,
        LambdaFunction.REDUCE: call.type,
    }.get(call.function, BOOLEAN)
    if call.function is LambdaFunction.REDUCE:
        types.insert(0, call.type)
        if call.arguments[1].type != call.type:
            yield f"{name} of a {call.type} starts with a {call.arguments[1].type}"
    if body.type != wanted:
        yield f"the lambda of {name} returns a {body.type}, not a {wanted}"
    yield from verify_expression(body, tuple(Column(f"${i}", kind) for i, kind in enumerate(types)))


def _call(call: Call) -> Iterator[str]:
    try:
        function = FUNCTIONS[call.function]
    except KeyError:
        yield f"there is no function {call.function}"
        return
    given = tuple(argument.type for argument in call.arguments)
    match = match_signature(function, given)
    if match is None or match.parameters != given or match.result != call.type:
        listed = ", ".join(str(kind) for kind in given)
        yield f"no signature of {call.function} takes ({listed}) and returns {call.type}"


def _case(case: Case) -> Iterator[str]:
    if not case.branches:
        yield "a CASE without branches"
    for condition, result in case.branches:
        if condition.type != BOOLEAN:
            yield f"a condition of CASE is a {condition.type}"
        if result.type != case.type:
            yield f"a result of CASE is a {result.type}, the whole a {case.type}"
    if case.otherwise.type != case.type:
        yield f"the ELSE of CASE is a {case.otherwise.type}, the whole a {case.type}"


def _are_octets(value: str) -> bool:
    return all(character <= "\xff" for character in value)


def _has_type(value: Value, kind: SqlType) -> bool:  # noqa: PLR0911 - one a kind
    match value:
        case None:
            return True
        case bool():
            return kind.kind is Kind.BOOLEAN
        case int():
            if kind.kind is Kind.DECIMAL:
                low, high = 1 - 10**kind.precision, 10**kind.precision - 1
            else:
                low, high = _RANGES.get(kind.kind, (1, 0))
            return low <= value <= high
        case float():
            return kind.kind in FLOATING
        case str():
            return kind.kind is Kind.STRING or (kind.kind is Kind.BYTES and _are_octets(value))
        case tuple() if kind.fields:
            types = kind.field_types
            return len(value) == len(types) and all(map(_has_type, value, types))
        case tuple():
            element = kind.element
            return element is not None and all(_has_type(item, element) for item in value)
