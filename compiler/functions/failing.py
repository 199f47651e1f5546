"""Functions that only fail: what an expression calls where it has no value."""

from __future__ import annotations

from typing import Final, NoReturn

from fsql.compiler.functions.failure import UnavailableFailure, UnmappedOperationFailure
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BOOLEAN, STRING


def _unmapped_operation(operation: str | None) -> NoReturn:
    raise UnmappedOperationFailure(operation)


def _unavailable_value(_is_there: bool) -> NoReturn:  # noqa: FBT001 - the value of an argument
    raise UnavailableFailure


FAILING: Final = (
    Function(
        "unmapped_operation",
        (),
        (Signature((STRING,), STRING, _unmapped_operation, fallible=True),),
        Nullability.NEVER,
        strict=False,
    ),
    Function(
        "unavailable_value",
        (),
        (Signature((BOOLEAN,), BOOLEAN, _unavailable_value, fallible=True),),
        Nullability.NEVER,
        strict=False,
    ),
)
