"""Functions that only fail: what an expression calls where it has no value."""

from __future__ import annotations

from typing import Final, NoReturn

from fsql.compiler.functions.failure import UnmappedOperationFailure
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import STRING


def _unmapped_operation(operation: str | None) -> NoReturn:
    raise UnmappedOperationFailure(operation)


FAILING: Final = (
    Function(
        "unmapped_operation",
        (),
        (Signature((STRING,), STRING, _unmapped_operation, fallible=True),),
        Nullability.NEVER,
        strict=False,
    ),
)
