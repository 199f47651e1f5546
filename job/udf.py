"""`fsql.udf`, `fsql.udtf` and `fsql.udaf`: declare the types of functions that scripts can call."""

from __future__ import annotations

import enum
import inspect
import typing
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from fsql.compiler.records import dataclass
from fsql.job.python_types import sql_text, without_none

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DeclaredT = TypeVar("_DeclaredT", bound="Callable[..., object]")
_AggregateT = TypeVar("_AggregateT", bound="type[Any]")
_ATTRIBUTE: Final = "__fsql_udf__"
_POSITIONAL: Final = frozenset(
    {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
)
_NOT_BY_POSITION: Final = "does not take one argument by its position; write a parameter for each"
_WRITE: Final = 'write the types: @udf(["STRING"], "BIGINT")'


class FunctionKind(enum.Enum):
    """The kind of a function; the value is the name of its decorator."""

    SCALAR = "udf"
    TABLE = "udtf"
    AGGREGATE = "udaf"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a function by a decorator; types are SQL text.

    `returns` is the type of the result, or the columns of a table function; `state` the type of the
    accumulators of an aggregate function.
    """

    kind: FunctionKind
    parameters: tuple[str, ...]
    returns: str
    strict: bool
    vectorized: bool = False
    state: str | None = None


@overload
def udf(parameters: _DeclaredT) -> _DeclaredT: ...


@overload
def udf(
    parameters: Sequence[str], returns: str, *, vectorized: bool = False, strict: bool = True
) -> Callable[[_DeclaredT], _DeclaredT]: ...


def udf(
    parameters: Callable[..., object] | Sequence[str],
    returns: str = "",
    *,
    vectorized: bool = False,
    strict: bool = True,
) -> object:
    """Declare the types of a function; the function itself stays as it is.

    `@udf` alone takes them from its annotations: `def shout(text: str) -> str`.  A function that allows None
    for a parameter is called where an argument is NULL, as with `strict=False`.

    Args:
        parameters: the type of each parameter, as SQL writes it: `["STRING", "DECIMAL(10, 2)"]`.
        returns: the type of the result.
        vectorized: the function takes and returns Arrow arrays, of many rows at once.
        strict: the result is NULL where an argument is NULL, without a call.

    Raises:
        TypeError: if a type is missing, or an annotation has no SQL type.
    """
    if callable(parameters):
        return _declare(_annotated(parameters))(parameters)
    types = _check_list(parameters, "parameters", "STRING")
    if not returns:
        raise TypeError(f'the type of the result is missing: @udf({list(types)}, "STRING")')
    declaration = Declaration(FunctionKind.SCALAR, types, returns, strict, vectorized)
    return _declare(declaration)


def _annotated(function: Callable[..., object]) -> Declaration:
    """Return the declaration of a function by its annotations.

    Raises:
        TypeError: if a parameter or the result has none, or one without an SQL type; if a parameter has
            several arguments, or is given by its name.
    """
    name = getattr(function, "__name__", str(function))
    try:
        signature, hints = inspect.signature(function), typing.get_type_hints(function)
    except (TypeError, ValueError, NameError) as error:
        raise TypeError(f"the annotations of {name} cannot be read: {error}; {_WRITE}") from error
    for each in signature.parameters.values():
        if each.kind not in _POSITIONAL:
            raise TypeError(f'parameter "{each.name}" of {name} {_NOT_BY_POSITION}')
    named = [(f'parameter "{each}"', hints.get(each)) for each in signature.parameters]
    found, nullable = [], False
    for what, annotation in (*named, ("the result", hints.get("return"))):
        base, optional = without_none(annotation)
        sql = sql_text(base)
        if sql is None:
            said = "no annotation"
            if annotation is not None:
                said = f"the annotation {annotation}, which is no SQL type"
            raise TypeError(f"{what} of {name} has {said}; {_WRITE}")
        found.append(sql)
        nullable = nullable or (optional and what != "the result")
    *parameters, returns = found
    return Declaration(FunctionKind.SCALAR, tuple(parameters), returns, strict=not nullable)


def udtf(
    parameters: Sequence[str], columns: Sequence[str], *, strict: bool = True
) -> Callable[[_DeclaredT], _DeclaredT]:
    """Declare the types of a function that returns rows, as a generator does.

    Args:
        parameters: the type of each parameter, as SQL writes it.
        columns: the name and the type of each column: `["word STRING", "length INT"]`.
        strict: there are no rows where an argument is NULL, without a call.
    """
    types = _check_list(parameters, "parameters", "STRING")
    listed = _check_list(columns, "columns", "word STRING")
    returns = f"TABLE ({', '.join(listed)})"
    return _declare(Declaration(FunctionKind.TABLE, types, returns, strict))


def udaf(
    parameters: Sequence[str], returns: str, *, state: str, strict: bool = True
) -> Callable[[_AggregateT], _AggregateT]:
    """Declare the types of an aggregate function, which is a class.

    It has the methods `create_accumulator(self)`, `accumulate(self, accumulator, *arguments)` and
    `get_value(self, accumulator)`, and may have `retract(self, accumulator, *arguments)`.  The two that
    change an accumulator return it, or modify it and return None.

    Args:
        parameters: the type of each parameter, as SQL writes it.
        returns: the type of the result.
        state: the type of the accumulators: `"ROW<total DOUBLE, weight DOUBLE>"` is a dict.
        strict: rows with a NULL among the arguments are ignored.
    """
    types = _check_list(parameters, "parameters", "STRING")
    declaration = Declaration(FunctionKind.AGGREGATE, types, returns, strict, state=state)

    def declare(declared: _AggregateT) -> _AggregateT:
        if not isinstance(declared, type):
            raise TypeError("an aggregate function is a class")
        setattr(declared, _ATTRIBUTE, declaration)
        return declared

    return declare


def _check_list(given: Sequence[str], what: str, example: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f'{what} is a list: ["{example}"]')
    return tuple(given)


def _declare(declaration: Declaration) -> Callable[[_DeclaredT], _DeclaredT]:
    def declare(function: _DeclaredT) -> _DeclaredT:
        setattr(function, _ATTRIBUTE, declaration)
        return function

    return declare


def declaration_of(function: object) -> Declaration | None:
    """Return the declaration of a function by its decorator."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None
