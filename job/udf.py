"""`fsql.udf`: declares the types of a function that scripts can call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FunctionT = TypeVar("_FunctionT", bound="Callable[..., object]")
_ATTRIBUTE: Final = "__fsql_udf__"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `fsql.udf` says of a function; types are as SQL writes them."""

    parameters: tuple[str, ...]
    returns: str
    vectorized: bool
    strict: bool


def udf(
    parameters: Sequence[str], returns: str, *, vectorized: bool = False, strict: bool = True
) -> Callable[[_FunctionT], _FunctionT]:
    """Declare the types of a function; the function itself stays as it is.

    Args:
        parameters: the type of each parameter, as SQL writes it: `["STRING", "DECIMAL(10, 2)"]`.
        returns: the type of the result.
        vectorized: the function takes and returns Arrow arrays, of many rows at once.
        strict: the result is NULL where an argument is NULL, without a call.
    """
    if isinstance(parameters, str):
        raise TypeError('parameters is a list of types: ["STRING"]')
    declaration = Declaration(tuple(parameters), returns, vectorized, strict)

    def declare(function: _FunctionT) -> _FunctionT:
        setattr(function, _ATTRIBUTE, declaration)
        return function

    return declare


def declaration_of(function: object) -> Declaration | None:
    """Return what `udf` has declared of a function."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None
