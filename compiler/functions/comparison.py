"""Comparison and three-valued logic.

`and`, `or` and `coalesce` are lazy: `evaluate` decides which of their arguments are evaluated, and the
scalars here never run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.decimals import alike, as_decimal, union_type
from fsql.compiler.functions.ordering import compare
from fsql.compiler.functions.signature import (
    Function,
    Match,
    Nullability,
    Signature,
    TypeVariable,
)
from fsql.compiler.sqltypes import BOOLEAN, SqlType

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

LAZY = ("and", "or", "coalesce")
"""The functions whose arguments are evaluated one by one, and only as far as needed."""


def _no_scalar(*_arguments: Value) -> Value:
    raise AssertionError("a lazy function has no scalar")


def _comparison(name: str, spellings: tuple[str, ...], holds: Callable[[int], bool]) -> Function:
    variable = TypeVariable.ANY if name in {"eq", "ne"} else TypeVariable.ORDERED
    signature = Signature(
        (variable, variable), BOOLEAN, lambda left, right: holds(compare(left, right))
    )

    def of_decimals(arguments: tuple[SqlType, ...]) -> Match | None:
        """Return the exact comparison of numbers for which there is no type that has the values of both."""
        left, right = (as_decimal(argument) for argument in arguments)
        if left is None or right is None or union_type(left, right) is not None:
            return None
        of_left, of_right = alike(left, right)

        def scalar(a: int, b: int) -> bool:
            return holds(compare(a * of_left, b * of_right))

        return Match(Signature((left, right), BOOLEAN, scalar), (left, right), BOOLEAN)

    return Function(name, spellings, (signature,), of_decimals=of_decimals)


def _extreme(name: str, spelling: str, *, sign: int) -> Function:
    """Return GREATEST (`sign` 1) or LEAST (-1); the first of equal arguments wins."""

    def scalar(*arguments: Value) -> Value:
        best = arguments[0]
        for argument in arguments[1:]:
            if compare(argument, best) == sign:
                best = argument
        return best

    ordered = TypeVariable.ORDERED
    return Function(name, (spelling,), (Signature((ordered,), ordered, scalar, variadic=True),))


def _connective(name: str) -> Function:
    signature = Signature((BOOLEAN, BOOLEAN), BOOLEAN, _no_scalar)
    return Function(name, (name.upper(),), (signature,), strict=False)


def _null_test(name: str, spelling: str, scalar: Callable[[Value], bool]) -> Function:
    signature = Signature((TypeVariable.ANY,), BOOLEAN, scalar)
    return Function(name, (spelling,), (signature,), Nullability.NEVER, strict=False)


COMPARISON = (
    _comparison("eq", ("=",), lambda order: order == 0),
    _comparison("ne", ("<>", "!="), lambda order: order != 0),
    _comparison("lt", ("<",), lambda order: order < 0),
    _comparison("le", ("<=",), lambda order: order <= 0),
    _comparison("gt", (">",), lambda order: order > 0),
    _comparison("ge", (">=",), lambda order: order >= 0),
    _connective("and"),
    _connective("or"),
    Function("not", ("NOT",), (Signature((BOOLEAN,), BOOLEAN, lambda value: not value),)),
    _null_test("is_null", "IS NULL", lambda value: value is None),
    _null_test("is_not_null", "IS NOT NULL", lambda value: value is not None),
    Function(
        "coalesce",
        ("COALESCE", "IFNULL", "NVL"),
        (Signature((TypeVariable.ANY,), TypeVariable.ANY, _no_scalar, variadic=True),),
        Nullability.ALL_ARGUMENTS,
        strict=False,
    ),
    _extreme("greatest", "GREATEST", sign=1),
    _extreme("least", "LEAST", sign=-1),
)
