"""Signatures of functions: argument and result types, NULL handling, failures.

A parameter is a type, or one of the type variables below.  All variables of one signature that name the
same element stand for one type: the least that all their arguments coerce to.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.coercion import coercible, common_type
from fsql.compiler.sqltypes import STRUCTURED, Kind, SqlType, array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value


class TypeVariable(enum.Enum):
    """Stands for a type in a signature; the member's value is how an error message writes it."""

    ANY = "T"
    ORDERED = "T, not an ARRAY or ROW"
    ARRAY = "ARRAY<T>"
    ORDERED_ARRAY = "ARRAY<T>, T not an ARRAY or ROW"
    EACH = "any"
    """An argument of any type, whatever the types of the others."""
    ROW = "ROW<f1 any, ...>"
    """As a result: a row of the arguments, whose fields are called f1, f2 and so on."""


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
    types.  With `variadic` the last parameter may be repeated.  `fallible` says whether `scalar` may
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
    `literal_check` the argument at `literal_place`, if there is one, has to be a constant, which the check
    verifies: it returns what is wrong with it, or None.  Messages call it `literal_word`; a unit or a form
    may be written as a bare word.
    """

    name: str
    spellings: tuple[str, ...]
    signatures: tuple[Signature, ...]
    nullability: Nullability = Nullability.ANY_ARGUMENT
    strict: bool = True
    literal_check: Callable[[str], str | None] | None = None
    literal_place: int = -1
    literal_word: str = "pattern"
    constants_check: Callable[[Sequence[object]], tuple[int, str] | None] | None = None
    """Checks the arguments together: given those that are constant, and None for the others, it returns the
    place of one that is wrong and what is wrong with it, or None."""
    of_decimals: Callable[[tuple[SqlType, ...]], Match | None] | None = None
    """The signature for arguments one of which is a DECIMAL, if it depends on their precisions."""
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
    if function.of_decimals is not None and any(type_.kind is Kind.DECIMAL for type_ in arguments):
        derived = function.of_decimals(arguments)
        if derived is not None:
            return derived
    for signature in function.signatures:
        parameters = signature.spread(len(arguments))
        if parameters is not None and (match := _fit(signature, parameters, arguments)):
            return match
    return None


def _fit(
    signature: Signature, parameters: tuple[Parameter, ...], arguments: tuple[SqlType, ...]
) -> Match | None:
    stood_for = _type_of_variable(parameters, arguments)
    if stood_for is None:
        return None
    types = tuple(
        argument if parameter is TypeVariable.EACH else _substitute(parameter, stood_for)
        for parameter, argument in zip(parameters, arguments, strict=True)
    )
    fits = all(
        coercible(argument, target) for argument, target in zip(arguments, types, strict=True)
    )
    if not fits:
        return None
    if signature.result is TypeVariable.ROW:
        return Match(signature, types, row_of((f"f{i}", each) for i, each in enumerate(types, 1)))
    return Match(signature, types, _substitute(signature.result, stood_for))


_NO_VARIABLE: Final = SqlType(Kind.NULL)


def _type_of_variable(
    parameters: tuple[Parameter, ...], arguments: tuple[SqlType, ...]
) -> SqlType | None:
    """Return the type that the signature's variable stands for; None if the arguments disagree."""
    bound: list[SqlType] = []
    ordered = False
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter in ARRAYS:
            if argument.element is None:
                return None
            ordered = ordered or parameter is TypeVariable.ORDERED_ARRAY
            bound.append(argument.element)
        elif isinstance(parameter, TypeVariable) and parameter is not TypeVariable.EACH:
            ordered = ordered or parameter is TypeVariable.ORDERED
            bound.append(argument)
    common = common_type(bound) if bound else _NO_VARIABLE
    return None if common is not None and ordered and common.kind in STRUCTURED else common


def _substitute(parameter: Parameter, stood_for: SqlType) -> SqlType:
    if parameter in ARRAYS:
        return array_of(stood_for)
    return stood_for if isinstance(parameter, TypeVariable) else parameter


def _text(parameter: Parameter) -> str:
    return parameter.value if isinstance(parameter, TypeVariable) else str(parameter)
