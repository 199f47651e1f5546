"""Signatures of functions: argument and result types, NULL handling, failures.

A parameter is a type, or one of the type variables below.  All variables of one signature that name the
same element, key or value (T, K, V) are one type: the least that all their arguments coerce to.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.coercion import aligns, common_type, passes
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import (
    INTEGER_RANGES,
    STRUCTURED,
    Kind,
    SqlType,
    array_of,
    map_of,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fsql.compiler.expression import Value


class TypeVariable(enum.Enum):
    """A variable for a type in a signature; the member's value is how an error message writes it."""

    ANY = "T"
    ORDERED = "T, not an ARRAY, ROW or MAP"
    ARRAY = "ARRAY<T>"
    ORDERED_ARRAY = "ARRAY<T>, T not an ARRAY, ROW or MAP"
    EACH = "any"
    """An argument of any type, whatever the types of the others."""
    ROW = "ROW<f1 any, ...>"
    """As a result: a row of the arguments, whose fields are called f1, f2 and so on."""
    MAP = "MAP<K, V>"
    KEY = "K"
    VALUE = "V"
    KEYS = "ARRAY<K>"
    VALUES = "ARRAY<V>"
    ENTRIES = "ARRAY<ROW<key K, value V>>"
    """K has no parts."""


ARRAYS: Final = (TypeVariable.ARRAY, TypeVariable.ORDERED_ARRAY)
"""The variables that stand for arrays of a type."""

Parameter = SqlType | TypeVariable


class Nullability(enum.Enum):
    """When the result of a call may be NULL."""

    ANY_ARGUMENT = "any"
    """Where any argument may be: the rule of strict functions."""
    ALL_ARGUMENTS = "all"
    """Only where every argument may be."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to call a function.

    `scalar` computes a value from Python values (`fsql.compiler.sqltypes`) of exactly the parameters'
    types.  With `variadic` the last parameter may be repeated.  `fallible` states whether `scalar` may
    raise a `RowFailure`.
    """

    parameters: tuple[Parameter, ...]
    result: Parameter
    scalar: Callable[..., Value]
    fallible: bool = False
    variadic: bool = False

    def __str__(self) -> str:
        """Return the signature as documentation writes it: `(STRING, BIGINT) STRING`."""
        texts = [_text(parameter) for parameter in self.parameters]
        return f"({', '.join(texts)}{', ...' if self.variadic else ''}) {_text(self.result)}"

    def spread(self, count: int) -> tuple[Parameter, ...] | None:
        """Return a parameter for each of `count` arguments; None if they are too many or too few."""
        if self.variadic and count >= len(self.parameters):
            return self.parameters + self.parameters[-1:] * (count - len(self.parameters))
        return self.parameters if count == len(self.parameters) else None


@dataclass(frozen=True, slots=True)
class Function:
    """A row of the table: `name` in the plan, and the `spellings` that SQL text has for it.

    `strict` functions are NULL where any argument is, and their `scalar` never sees NULL.  With
    `literal_check` the argument at `literal_index`, if given, must be a constant, which the check
    verifies: it returns what is wrong with it, or None.  Messages call it `literal_word`; a unit or a form
    may be written as a bare word.  If the argument `may_vary`, it need not be constant, and is checked if it
    is.
    """

    name: str
    spellings: tuple[str, ...]
    signatures: tuple[Signature, ...]
    nullability: Nullability = Nullability.ANY_ARGUMENT
    strict: bool = True
    literal_check: Callable[[str], str | None] | None = None
    literal_index: int = -1
    literal_word: str = "pattern"
    may_vary: bool = False
    constants_check: Callable[[Sequence[object]], tuple[int, str] | None] | None = None
    """Checks the arguments together: given those that are constant, and None for the others, it returns the
    index of one that is wrong and what is wrong with it, or None."""
    of_decimals: Callable[[tuple[SqlType, ...]], Match | None] | None = None
    """The signature for arguments one of which is a DECIMAL, if it depends on their precisions."""
    of_instants: bool = False
    """Whether it takes a TIMESTAMP_LTZ as the instant that it is, not as its local time."""
    of_types: Callable[[tuple[SqlType, ...]], Match | None] | None = None
    """The signature for arguments of any types, if `scalar` depends on them."""


@dataclass(frozen=True, slots=True)
class Match:
    """A signature applied to arguments: the types they are to be coerced to, and the result's."""

    signature: Signature
    parameters: tuple[SqlType, ...]
    result: SqlType


def match_signature(function: Function, arguments: Sequence[SqlType]) -> Match | None:
    """Return the first signature of `function` to which all arguments coerce; None if none fits."""
    return _match_cached(function, tuple(arguments))


@lru_cache(maxsize=4096)
def _match_cached(function: Function, arguments: tuple[SqlType, ...]) -> Match | None:
    if function.of_types is not None:
        return function.of_types(arguments)
    zone = next((type_.zone for type_ in arguments if type_.zone), "")
    if zone and function.of_instants:
        return _match_instants(function, arguments, zone)
    if function.of_decimals is not None and _computes_in_decimal(arguments):
        derived = function.of_decimals(arguments)
        if derived is not None:
            return derived
    for signature in function.signatures:
        parameters = signature.spread(len(arguments))
        if parameters is not None and (match := _fit(signature, parameters, arguments)):
            return match
    return None


def _computes_in_decimal(arguments: tuple[SqlType, ...]) -> bool:
    """Return whether one is a DECIMAL, or no integer type has the values of all: UBIGINT and a signed one."""
    kinds = {type_.kind for type_ in arguments}
    return Kind.DECIMAL in kinds or (Kind.UBIGINT in kinds and not kinds.isdisjoint(_SIGNED))


_SIGNED: Final = frozenset(kind for kind, (least, _) in INTEGER_RANGES.items() if least < 0)


def _match_instants(function: Function, arguments: tuple[SqlType, ...], zone: str) -> Match | None:
    """Return the signature for TIMESTAMP, applied to TIMESTAMP_LTZ."""

    def zoned(type_: SqlType) -> SqlType:
        return replace(type_, zone=zone) if type_.kind is Kind.TIMESTAMP else type_

    local = tuple(replace(type_, zone="") if type_.zone else type_ for type_ in arguments)
    match = _match_cached(function, local)
    if match is None:
        return None
    return Match(match.signature, tuple(map(zoned, match.parameters)), zoned(match.result))


def _fit(
    signature: Signature, parameters: tuple[Parameter, ...], arguments: tuple[SqlType, ...]
) -> Match | None:
    stood_for = _types_of_letters(parameters, arguments)
    if stood_for is None:
        return None
    types = tuple(
        argument if parameter is TypeVariable.EACH else _substitute(parameter, stood_for)
        for parameter, argument in zip(parameters, arguments, strict=True)
    )
    for parameter, argument, target in zip(parameters, arguments, types, strict=True):
        aligned = isinstance(parameter, TypeVariable) and aligns(argument, target)
        if not (aligned or passes(argument, target)):
            return None
    if not isinstance(signature.result, TypeVariable):
        # Digits of fraction show in a result only, and every time is a value of the type without them.
        types = tuple(map(_as_given, types, arguments))
    if signature.result is TypeVariable.ROW:
        return Match(signature, types, row_of((f"f{i}", each) for i, each in enumerate(types, 1)))
    return Match(signature, types, _substitute(signature.result, stood_for))


def _as_given(parameter: SqlType, argument: SqlType) -> SqlType:
    """Return the type of a parameter, or that of its argument where only digits of fraction differ."""
    whole = parameter.without_fraction
    return argument if argument.without_fraction == whole else whole


_LETTERS: Final = "TKV"


def _types_of_letters(
    parameters: tuple[Parameter, ...], arguments: tuple[SqlType, ...]
) -> dict[str, SqlType] | None:
    """Return the types that the letters of the signature stand for; None if the arguments disagree."""
    bound: dict[str, list[SqlType]] = {letter: [] for letter in _LETTERS}
    for parameter, argument in zip(parameters, arguments, strict=True):
        parts = _parts_of_letters(parameter, argument)
        if parts is None:
            return None
        for letter, part in parts:
            bound[letter].append(part)
    stood_for: dict[str, SqlType] = {}
    for letter, types in bound.items():
        common = common_type(types)
        if common is None or (letter != "T" and types and common.kind is Kind.NULL):
            return None
        stood_for[letter] = common
    ordered = not _ORDERED.isdisjoint(parameters)
    if (ordered and stood_for["T"].kind in STRUCTURED) or stood_for["K"].kind in STRUCTURED:
        return None
    return stood_for


_ORDERED: Final = frozenset({TypeVariable.ORDERED, TypeVariable.ORDERED_ARRAY})
_ARRAY_OF: Final = {
    **dict.fromkeys(ARRAYS, "T"),
    TypeVariable.KEYS: "K",
    TypeVariable.VALUES: "V",
}


def _parts_of_letters(
    parameter: Parameter, argument: SqlType
) -> Iterable[tuple[str, SqlType]] | None:
    """Return the types in an argument, each with its letter; None if it is not of the parameter's form."""
    if not isinstance(parameter, TypeVariable) or parameter is TypeVariable.EACH:
        return ()
    element = argument.element
    if parameter is TypeVariable.MAP:
        return (
            zip("KV", (argument.key, argument.value), strict=True)
            if argument.kind is Kind.MAP
            else None
        )
    if parameter is TypeVariable.ENTRIES:
        pairs = argument.kind is Kind.ARRAY and element is not None and len(element.fields) == 2
        return zip("KV", element.field_types, strict=True) if pairs and element else None
    if parameter in _ARRAY_OF:
        of_array = argument.kind is Kind.ARRAY and element is not None
        return [(_ARRAY_OF[parameter], element)] if of_array and element else None
    letter = {TypeVariable.KEY: "K", TypeVariable.VALUE: "V"}.get(parameter, "T")
    return [(letter, argument)]


def _substitute(  # noqa: PLR0911 - one a variable
    parameter: Parameter, stood_for: Mapping[str, SqlType]
) -> SqlType:
    match parameter:
        case TypeVariable.MAP:
            return map_of(stood_for["K"], stood_for["V"])
        case TypeVariable.ENTRIES:
            return array_of(row_of((("key", stood_for["K"]), ("value", stood_for["V"]))))
        case TypeVariable.KEY:
            return stood_for["K"]
        case TypeVariable.VALUE:
            return stood_for["V"]
        case TypeVariable() if parameter in _ARRAY_OF:
            return array_of(stood_for[_ARRAY_OF[parameter]])
        case TypeVariable():
            return stood_for["T"]
        case _:
            return parameter


def _text(parameter: Parameter) -> str:
    return parameter.value if isinstance(parameter, TypeVariable) else str(parameter)
