"""Random bound expressions: every function of the table, every cast, CASE, over given columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Call, Case, Cast, ColumnRef, Expression, Literal
from fsql.compiler.functions.casts import cast_fallible, castable
from fsql.compiler.functions.coercion import coercible
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
FAILING: Final = {"divide", "modulo", "multiply", "to_timestamp", "timestamp_millis"}
"""The functions that fail rows that are not rare."""
SEPARATORS: Final = (",", "a", ",,", " ")
UNITS: Final = ("year", "month", "day", "hour", "minute")
LITERALS: Final = {"like": PATTERNS, "split": SEPARATORS, "date_trunc": UNITS}
"""The constants that functions take, by name."""


def random_expression(
    random: Random, schema: Schema, type_: SqlType, depth: int, *, risk: float = 1.0
) -> Expression:
    """Return an expression of `type_` over `schema` that is at most `depth` deep.

    With the probability `risk`, a part of it may be one that can fail (on values that are not rare).
    """
    maker = ExpressionMaker(random, schema, risk)
    return maker.expression(type_, depth)


@dataclass(frozen=True)
class ExpressionMaker:
    """Makes expressions over a schema."""

    random: Random
    schema: Schema
    risk: float

    def expression(self, type_: SqlType, depth: int) -> Expression:
        """Return an expression of a type."""
        columns = [index for index, column in enumerate(self.schema) if column.type == type_]
        if depth == 0 or self.random.random() < 0.15:
            if columns and self.random.random() < 0.75:
                index = self.random.choice(columns)
                return ColumnRef(type_, self.schema[index].nullable, index)
            value = random_value(self.random, type_)
            return Literal(type_, value is None, value)
        form = self.random.choice((self.call, self.call, self.call, self.cast, self.case))
        return form(type_, depth - 1)

    def case(self, type_: SqlType, depth: int) -> Expression:
        """Return a CASE."""
        branches = tuple(
            (self.expression(BOOLEAN, depth), self.expression(type_, depth))
            for _ in range(self.random.choice((1, 1, 2)))
        )
        return Case(
            type_, nullable=True, branches=branches, otherwise=self.expression(type_, depth)
        )

    def cast(self, type_: SqlType, depth: int) -> Expression:
        """Return a cast of what can be cast to the type, if anything can."""
        safe = self.random.random() >= self.risk
        sources = [
            given
            for given in (*TYPES, NULL)
            if given != type_
            and castable(given, type_)
            and not (safe and cast_fallible(given, type_))
        ]
        if not sources:
            return self.call(type_, depth)
        argument = self.expression(self.random.choice(sources), depth)
        return Cast(type_, nullable=True, argument=argument)

    def call(self, type_: SqlType, depth: int) -> Expression:
        """Return a call of one of the functions that give the type."""
        safe = self.random.random() >= self.risk
        fitting = [
            (function, signature)
            for function in FUNCTIONS.values()
            for signature in function.signatures
            if gives(signature, type_) and not (safe and function.name in FAILING)
        ]
        function, signature = self.random.choice(fitting)
        variable = self.variable(signature, type_)
        parameters = signature.parameters
        if signature.variadic:
            parameters += parameters[-1:] * self.random.randrange(3)
        arguments: list[Expression] = []
        for index, parameter in enumerate(parameters):
            place = function.literal_place % len(parameters)
            if function.literal_check is not None and index == place:
                texts = LITERALS[function.name]
                arguments.append(Literal(STRING, nullable=False, value=self.random.choice(texts)))
                continue
            wanted = array_of(variable) if parameter is TypeVariable.ARRAY else parameter
            wanted = variable if isinstance(wanted, TypeVariable) else wanted
            arguments.append(self.expression(wanted, depth))
        return checked_call(function, arguments, type_)

    def variable(self, signature: Signature, type_: SqlType) -> SqlType:
        """Return the type that a signature's variable stands for if the result is to be `type_`."""
        if signature.result is TypeVariable.ARRAY:
            assert type_.element is not None
            return type_.element
        if isinstance(signature.result, TypeVariable):
            return type_
        if TypeVariable.ARRAY in signature.parameters:
            return self.random.choice((BIGINT, DOUBLE, STRING))
        ordered = TypeVariable.ORDERED in signature.parameters
        return self.random.choice(SCALARS if ordered else TYPES)


def gives(signature: Signature, type_: SqlType) -> bool:
    """Say whether a signature can have results of a type."""
    match signature.result:
        case TypeVariable.ANY:
            return True
        case TypeVariable.ORDERED:
            return type_.element is None
        case TypeVariable.ARRAY:
            return type_.element is not None
        case result:
            return result == type_


def checked_call(function: Function, arguments: Sequence[Expression], type_: SqlType) -> Call:
    """Return the call, as the binder would make it: the arguments have a signature's very types."""
    match = match_signature(function, [argument.type for argument in arguments])
    assert match is not None
    assert match.result == type_
    for argument, parameter in zip(arguments, match.parameters, strict=True):
        assert coercible(argument.type, parameter)
        assert argument.type == parameter
    return Call(type_, nullable=True, function=function.name, arguments=tuple(arguments))
