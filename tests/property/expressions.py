"""Random bound expressions: every function of the table, every cast, CASE, over given columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.coercion import coercible
from fsql.compiler.expression import Call, Case, Cast, ColumnRef, Expression, Literal
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.signature import TypeVariable, match_signature
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    array_of,
)
from fsql.tests.property.values import random_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.functions.signature import Function, Signature
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

SCALARS: Final = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, TIMESTAMP, INTERVAL)
TYPES: Final = (*SCALARS, *(array_of(type_) for type_ in (BIGINT, DOUBLE, STRING)))
PATTERNS: Final = ("a%", "%", "_", "a\\%b", "%b", "a_b", "", "%a%", "\\\\")
SEPARATORS: Final = (",", "a", ",,", " ")


def random_expression(random: Random, schema: Schema, type_: SqlType, depth: int) -> Expression:
    """Return an expression of `type_` over `schema` that is at most `depth` deep."""
    columns = [index for index, column in enumerate(schema) if column.type == type_]
    if depth == 0 or random.random() < 0.15:
        if columns and random.random() < 0.75:
            index = random.choice(columns)
            return ColumnRef(type_, schema[index].nullable, index)
        value = random_value(random, type_)
        return Literal(type_, value is None, value)
    form = random.choice(("call", "call", "call", "cast", "case"))
    if form == "case":
        return _case(random, schema, type_, depth)
    if form == "cast":
        sources = [given for given in (*TYPES, NULL) if given != type_ and castable(given, type_)]
        if sources:
            argument = random_expression(random, schema, random.choice(sources), depth - 1)
            return Cast(type_, nullable=True, argument=argument)
    return _call(random, schema, type_, depth)


def _case(random: Random, schema: Schema, type_: SqlType, depth: int) -> Expression:
    branches = tuple(
        (
            random_expression(random, schema, BOOLEAN, depth - 1),
            random_expression(random, schema, type_, depth - 1),
        )
        for _ in range(random.choice((1, 1, 2)))
    )
    otherwise = random_expression(random, schema, type_, depth - 1)
    return Case(type_, nullable=True, branches=branches, otherwise=otherwise)


def _call(random: Random, schema: Schema, type_: SqlType, depth: int) -> Expression:
    fitting: list[tuple[Function, Signature]] = [
        (function, signature)
        for function in FUNCTIONS.values()
        for signature in function.signatures
        if signature.result == type_
        or signature.result is TypeVariable.ANY
        or (signature.result is TypeVariable.ORDERED and type_.element is None)
        or (signature.result is TypeVariable.ARRAY and type_.element is not None)
    ]
    function, signature = random.choice(fitting)
    variable = _variable(random, signature, type_)
    parameters = signature.parameters
    if signature.variadic:
        parameters += parameters[-1:] * random.randrange(3)
    arguments: list[Expression] = []
    for index, parameter in enumerate(parameters):
        if function.literal_check is not None and index == len(parameters) - 1:
            texts = PATTERNS if function.name == "like" else SEPARATORS
            arguments.append(Literal(STRING, nullable=False, value=random.choice(texts)))
            continue
        wanted = array_of(variable) if parameter is TypeVariable.ARRAY else parameter
        wanted = variable if isinstance(wanted, TypeVariable) else wanted
        arguments.append(random_expression(random, schema, wanted, depth - 1))
    return checked_call(function, arguments, type_)


def _variable(random: Random, signature: Signature, type_: SqlType) -> SqlType:
    """Return the type that a signature's variable stands for where the result is to be `type_`."""
    if signature.result is TypeVariable.ARRAY:
        assert type_.element is not None
        return type_.element
    if isinstance(signature.result, TypeVariable):
        return type_
    if TypeVariable.ARRAY in signature.parameters:
        return random.choice((BIGINT, DOUBLE, STRING))
    ordered = TypeVariable.ORDERED in signature.parameters
    return random.choice(SCALARS if ordered else TYPES)


def checked_call(function: Function, arguments: Sequence[Expression], type_: SqlType) -> Call:
    """Return the call, as the binder would make it: the arguments have a signature's very types."""
    match = match_signature(function, [argument.type for argument in arguments])
    assert match is not None
    assert match.result == type_
    for argument, parameter in zip(arguments, match.parameters, strict=True):
        assert coercible(argument.type, parameter)
        assert argument.type == parameter
    return Call(type_, nullable=True, function=function.name, arguments=tuple(arguments))
