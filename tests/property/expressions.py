"""Random bound expressions: every function of the table, every cast, CASE, over given columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    InSet,
    LambdaBody,
    LambdaCall,
    LambdaFunction,
    Literal,
    TryCast,
)
from fsql.compiler.functions.array_operations import ARRAY_OPERATIONS
from fsql.compiler.functions.casts import cast_fallible, castable
from fsql.compiler.functions.coercion import coercible
from fsql.compiler.functions.date_arithmetic import DATE_ARITHMETIC
from fsql.compiler.functions.event_times import TIME_BEFORE
from fsql.compiler.functions.failing import FAILING as ONLY_FAILING
from fsql.compiler.functions.json_clauses import JSON_CLAUSES
from fsql.compiler.functions.json_functions import JSON_FUNCTIONS
from fsql.compiler.functions.maps import MAPS
from fsql.compiler.functions.mathematics import MATHEMATICS
from fsql.compiler.functions.regular_expressions import REGULAR_EXPRESSIONS
from fsql.compiler.functions.signature import ARRAYS, TypeVariable, match_signature
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.functions.text_operations import TEXT_OPERATIONS
from fsql.compiler.functions.time_texts import TIME_TEXTS
from fsql.compiler.functions.urls import URLS
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MONTHS,
    NULL,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    Kind,
    array_of,
    decimal_type,
    map_of,
    row_of,
)
from fsql.tests.property.values import random_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.functions.signature import Function, Signature
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

FINE: Final = decimal_type(38, 30)
"""With the other types of DECIMAL, no type has the values of both."""
DECIMALS: Final = (decimal_type(12, 2), decimal_type(38, 9), decimal_type(20, 0))
SMALL: Final = (TINYINT, SMALLINT, FLOAT)
UNSIGNED: Final = (UTINYINT, USMALLINT, UINT, UBIGINT)
SCALARS: Final = (
    *(BOOLEAN, *SMALL, INT, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, INTERVAL, MONTHS),
    *(*DECIMALS, *UNSIGNED),
)
PAIR: Final = row_of((("f1", BIGINT), ("f2", DOUBLE)))
"""A row with the names of `ROW(…)`."""
RECORD: Final = row_of((("x", INT), ("y", STRING), ("z", array_of(PAIR))))
ROWS: Final = (PAIR, RECORD)
MAP_TYPES: Final = (map_of(STRING, BIGINT), map_of(DOUBLE, STRING))
ENTRY_TYPES: Final = tuple(type_.element for type_ in MAP_TYPES if type_.element is not None)
TYPES: Final = (
    *(*SCALARS, *(array_of(type_) for type_ in (BIGINT, DOUBLE, STRING, PAIR)), *ROWS),
    *(*MAP_TYPES, map_of(STRING, STRING), *(array_of(type_) for type_ in ENTRY_TYPES)),
)
PATTERNS: Final = ("a%", "%", "_", "a\\%b", "%b", "a_b", "", "%a%", "\\\\")
_OWN_TABLES: Final = (
    *(TIME_TEXTS, DATE_ARITHMETIC, MATHEMATICS, TEXT_OPERATIONS, URLS, ARRAY_OPERATIONS),
    *(JSON_FUNCTIONS, REGULAR_EXPRESSIONS[3:], MAPS, ONLY_FAILING),
)
ON_THEIR_OWN: Final = frozenset(
    (*(function.name for table in _OWN_TABLES for function in table), TIME_BEFORE)
)
"""The functions that are drawn by name only: with them the others would be too rare.

Nor is the one drawn whose arguments the binder knows to be in order.
"""
FAILING: Final = {
    *("divide", "divide_interval", "modulo", "multiply", "multiply_interval"),
    *("to_timestamp", "timestamp_millis"),
}
"""The functions that fail rows that are not rare."""
SEPARATORS: Final = (",", "a", ",,", " ")
UNITS: Final = ("year", "month", "day", "hour", "minute")
REGEXPS: Final = ("a", "a+", "(a)(b)?", "^a", "b|,", "a*", "[0-9]+", "(?i)A")
URL_PARTS: Final = ("PROTOCOL", "AUTHORITY", "USERINFO", "HOST", "FILE", "PATH", "QUERY", "REF")
LITERALS: Final = {
    "like": PATTERNS,
    "split": SEPARATORS,
    "date_trunc": UNITS,
    "parse_url": URL_PARTS,
    **dict.fromkeys(("date_format", "from_unixtime"), ("yyyy-MM-dd", "D HH:mm:ss", "EEE MMM yy")),
    **dict.fromkeys(
        ("to_timestamp", "try_to_timestamp", "to_date", "try_to_date", "unix_timestamp"),
        ("yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ssX", "y", 'YYYY-MM-DD"T"HH24:MI'),
    ),
    **dict.fromkeys(("format_time", "parse_time"), ("HH:mm:ss.SSS", "hh a", "'at' H")),
    "strftime": ("%Y-%m-%d %H", "%f", "%j %a"),
    **dict.fromkeys(("strptime", "try_strptime"), ("%Y-%m-%d", "%FT%T%z")),
    "to_char": ("YYYY-MM-DD", "HH12:MI am", "FMDay, DDD US"),
    **dict.fromkeys(("timestamp_add", "timestamp_diff", "date_diff"), (*UNITS, "MINUTES")),
    "date_ceil": UNITS,
    "printf": ("%s", "%3s|%-2.1s%%", "a"),
    "geo_distance": ("KM", "mi"),
    "date_part": ("year", "doy", "epoch"),
    "next_day": ("Mon", "sunday"),
    **dict.fromkeys(
        (each.name for each in (*JSON_FUNCTIONS, *JSON_CLAUSES) if each.literal_word == "path"),
        ("$", "$.a", "$[0]", "$[*]"),
    ),
    "normalize": ("NFC", "nfd"),
    "is_json": ("value", "array"),
    **dict.fromkeys((each.name for each in REGULAR_EXPRESSIONS), REGEXPS),
    "to_bytes": ("hex", "base64", "utf8", "ASCII"),
    **dict.fromkeys(("encode", "decode"), ("UTF-8", "ISO-8859-1", "UTF-16BE", "us-ascii")),
    **dict.fromkeys(("regexp_like", "regexp_extract", "regexp_replace"), REGEXPS),
}
"""The constants that functions take, by name."""
FIELDS_OF: Final[dict[object, tuple[str, ...]]] = {
    ("date_part", INTERVAL): ("day", "hour", "epoch"),
    ("date_part", MONTHS): ("year", "month", "month"),
}
"""The same where the binder takes others for another argument."""


def random_expression(
    random: Random, schema: Schema, type_: SqlType, depth: int, *, risk: float = 1.0
) -> Expression:
    """Return an expression of `type_` over `schema` that is at most `depth` deep.

    With the probability `risk`, a part of it may be one that can fail (on values that are not rare).
    """
    maker = ExpressionMaker(random, schema, risk)
    return maker.expression(type_, depth)


def in_set(random: Random, argument: Expression, count: int) -> InSet:
    """Return a test whether an expression is among some values."""
    values = tuple(random_value(random, argument.type, awkward=0.05) for _ in range(count))
    nullable = argument.nullable or None in values
    return InSet(BOOLEAN, nullable, argument, values, negated=random.random() < 0.5)


def random_call(random: Random, schema: Schema, name: str, depth: int) -> Expression:
    """Return a call of a function over `schema`, with arguments that are at most `depth` deep."""
    function = FUNCTIONS[name]
    signature = random.choice(function.signatures)
    type_ = random.choice([each for each in TYPES if gives(signature, each)])
    return ExpressionMaker(random, schema, 1.0).call_of(function, signature, type_, depth)


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
        if type_ == BOOLEAN and self.random.random() < 0.15:
            return self.in_set(depth - 1)
        forms = (self.call, self.call, self.call, self.cast, self.case, self.field, self.of_lambda)
        return self.random.choice(forms)(type_, depth - 1)

    def field(self, type_: SqlType, depth: int) -> Expression:
        """Return a field of a row, if any has the type."""
        found = [
            (row, index)
            for row in ROWS
            for index, field in enumerate(row.field_types)
            if field == type_
        ]
        if not found:
            return self.call(type_, depth)
        row, index = self.random.choice(found)
        argument = self.expression(row, depth)
        return FieldAccess(type_, nullable=True, argument=argument, index=index)

    def in_set(self, depth: int) -> Expression:
        """Return a test whether a value of any type without parts is among some values."""
        type_ = self.random.choice(SCALARS)
        count = self.random.choice((1, 2, 3, 12))
        return in_set(self.random, self.expression(type_, depth), count)

    def of_lambda(self, type_: SqlType, depth: int) -> Expression:
        """Return a lambda over the elements of an array, which captures some columns."""
        source = array_of(self.random.choice((BIGINT, DOUBLE, STRING, PAIR)))
        function, result = LambdaFunction.REDUCE, type_
        if type_.kind is Kind.ARRAY:
            assert type_.element is not None
            function, result = LambdaFunction.TRANSFORM, type_.element
            if self.random.random() < 0.5:
                function, result, source = LambdaFunction.FILTER, BOOLEAN, type_
        elif type_ == BOOLEAN and self.random.random() < 0.7:
            function = LambdaFunction.ANY_MATCH
        arguments = [self.expression(source, depth)]
        assert source.element is not None
        inside = [Column("element", source.element)]
        if function is LambdaFunction.REDUCE:
            arguments.append(self.expression(type_, depth))
            inside.insert(0, Column("total", type_))
        indexes = self.random.sample(range(len(self.schema)), min(2, len(self.schema)))
        captured = [
            ColumnRef(self.schema[i].type, self.schema[i].nullable, i) for i in sorted(indexes)
        ]
        inside += [Column(f"captured_{i}", each.type) for i, each in enumerate(captured)]
        maker = ExpressionMaker(self.random, tuple(inside), self.risk)
        body = LambdaBody(maker.expression(result, min(depth, 2)))
        return LambdaCall(
            type_,
            nullable=True,
            function=function,
            arguments=tuple(arguments),
            captured=tuple(captured),
            body=body,
        )

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
        form = TryCast if self.random.random() < 0.2 else Cast
        return form(type_, nullable=True, argument=argument)

    def call(self, type_: SqlType, depth: int) -> Expression:
        """Return a call of one of the functions that give the type."""
        safe = self.random.random() >= self.risk
        if type_.kind is Kind.DECIMAL and self.random.random() < 0.6:
            return self.of_decimals(type_, depth)
        fitting = [
            (function, signature)
            for function in FUNCTIONS.values()
            if function.name not in ON_THEIR_OWN
            for signature in function.signatures
            if gives(signature, type_) and not (safe and function.name in FAILING)
        ]
        return self.call_of(*self.random.choice(fitting), type_, depth)

    def call_of(
        self, function: Function, signature: Signature, type_: SqlType, depth: int
    ) -> Expression:
        """Return a call of a function with one of its signatures, which gives the type."""
        of_maps = self.of_maps(signature, type_)
        variable = type_ if of_maps else self.variable(signature, type_)
        parameters = tuple(of_maps.get(each, each) for each in signature.parameters)
        if signature.result is TypeVariable.ROW:
            parameters = type_.field_types
        elif signature.variadic:
            parameters += parameters[-1:] * self.random.randrange(3)
        arguments: list[Expression] = []
        for index, parameter in enumerate(parameters):
            place = function.literal_index
            place = len(parameters) - 1 if place < 0 else place
            if function.literal_check is not None and index == place:
                texts = FIELDS_OF.get((function.name, parameters[-1]), LITERALS[function.name])
                arguments.append(Literal(STRING, nullable=False, value=self.random.choice(texts)))
                continue
            wanted = array_of(variable) if parameter in ARRAYS else parameter
            wanted = variable if isinstance(wanted, TypeVariable) else wanted
            arguments.append(self.expression(wanted, depth))
        return checked_call(function, arguments, type_)

    def of_maps(self, signature: Signature, type_: SqlType) -> dict[object, SqlType]:
        """Return what variables of maps stand for where the result is `type_`; nothing if there are none."""
        if not OF_MAPS & {*signature.parameters, signature.result}:
            return {}
        fitting = [
            each for each in MAP_TYPES if variable_types(each).get(signature.result, type_) == type_
        ]
        return variable_types(self.random.choice(fitting))

    def of_decimals(self, type_: SqlType, depth: int) -> Expression:
        """Return a cast of arithmetic of numbers, one of which is a DECIMAL, or a choice by a comparison."""
        function = self.random.choice([each for each in FUNCTIONS.values() if each.of_decimals])
        given = [self.random.choice(DECIMALS), self.random.choice((*DECIMALS, INT, FINE, BIGINT))]
        match = match_signature(function, given) or match_signature(function, given[:1])
        assert match is not None
        arguments = tuple(self.expression(each, depth) for each in given)[: len(match.parameters)]
        coerced = tuple(
            each if each.type == wanted else Cast(wanted, nullable=True, argument=each)
            for each, wanted in zip(arguments, match.parameters, strict=True)
        )
        call = Call(match.result, nullable=True, function=function.name, arguments=coerced)
        if match.result == BOOLEAN:
            results = [self.expression(type_, depth) for _ in range(2)]
            return Case(type_, nullable=True, branches=((call, results[0]),), otherwise=results[1])
        return call if call.type == type_ else Cast(type_, nullable=True, argument=call)

    def variable(self, signature: Signature, type_: SqlType) -> SqlType:
        """Return the type that a signature's variable stands for if the result is to be `type_`."""
        if signature.result in ARRAYS:
            assert type_.element is not None
            return type_.element
        if isinstance(signature.result, TypeVariable):
            return type_
        if TypeVariable.ORDERED_ARRAY in signature.parameters:
            return self.random.choice((BIGINT, DOUBLE, STRING))
        if TypeVariable.ARRAY in signature.parameters:
            return self.random.choice((BIGINT, DOUBLE, STRING, PAIR))
        ordered = TypeVariable.ORDERED in signature.parameters
        return self.random.choice(SCALARS if ordered else TYPES)


OF_MAPS: Final = frozenset(
    {
        *(TypeVariable.MAP, TypeVariable.KEY, TypeVariable.VALUE),
        *(TypeVariable.KEYS, TypeVariable.VALUES, TypeVariable.ENTRIES),
    }
)


def variable_types(type_: SqlType) -> dict[object, SqlType]:
    """Return what the variables of maps stand for where the map is of a type."""
    assert type_.element is not None
    return {
        TypeVariable.MAP: type_,
        TypeVariable.KEY: type_.key,
        TypeVariable.VALUE: type_.value,
        TypeVariable.KEYS: array_of(type_.key),
        TypeVariable.VALUES: array_of(type_.value),
        TypeVariable.ENTRIES: array_of(type_.element),
    }


def gives(signature: Signature, type_: SqlType) -> bool:  # noqa: PLR0911 - one a variable
    """Say whether a signature can have results of a type."""
    if signature.result in OF_MAPS:
        return any(variable_types(each)[signature.result] == type_ for each in MAP_TYPES)
    match signature.result:
        case TypeVariable.ANY:
            return not (TypeVariable.ORDERED_ARRAY in signature.parameters and type_.parts)
        case TypeVariable.ORDERED:
            return not type_.parts
        case TypeVariable.ROW:
            return type_ == PAIR
        case TypeVariable.ARRAY:
            return type_.kind is Kind.ARRAY
        case TypeVariable.ORDERED_ARRAY:
            return (
                type_.kind is Kind.ARRAY and type_.element is not None and not type_.element.parts
            )
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
