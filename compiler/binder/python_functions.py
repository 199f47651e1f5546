"""CREATE FUNCTION: functions written in Python, and how calls find them."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.tables import simple_name
from fsql.compiler.binder.type_names import bind_type
from fsql.compiler.diagnostics import FsqlError, Label
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.python_functions import LoadError, Types, register
from fsql.compiler.functions.ranks import RANK_FUNCTIONS, ROW_FUNCTIONS
from fsql.compiler.functions.refused import LATER, NOT_DETERMINISTIC, WINDOW_FUNCTIONS
from fsql.compiler.functions.table import CALLABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler import syntax
    from fsql.compiler.functions.python_functions import Load, PythonFunction
    from fsql.compiler.functions.signature import Function
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function of the script; None if its declaration was refused, which has been reported."""

    function: Function | None
    span: Span


_DECLARED: ContextVar[Mapping[str, DeclaredFunction] | None] = ContextVar("_DECLARED", default=None)
_TAKEN: Final = frozenset(
    {
        *CALLABLE,
        *AGGREGATES,
        *RANK_FUNCTIONS,
        *ROW_FUNCTIONS,
        *NOT_DETERMINISTIC,
        *LATER,
        *WINDOW_FUNCTIONS,
        *("GROUPING", "GROUPING_ID", "IF"),
    }
)


@contextmanager
def declared_functions(functions: Mapping[str, DeclaredFunction]) -> Iterator[None]:
    """Let calls in the block find the functions of the script that is bound, by name in capitals.

    Every expression of a script can call them: they are not handed from one part of the binder to the next.
    """
    token = _DECLARED.set(functions)
    try:
        yield
    finally:
        _DECLARED.reset(token)


def declared_function(name: str) -> DeclaredFunction | None:
    """Return the function of the script that has that name, in capitals."""
    return (_DECLARED.get() or {}).get(name)


def create_function(
    written: syntax.CreateFunction, functions: dict[str, DeclaredFunction], load: Load
) -> None:
    """Add a function to those of the script, also if it is refused; calls then give no further errors.

    Raises:
        Refusal: E205, E216, E301, E402, E411, E608.
    """
    name = simple_name(written.name)
    key = name.name.upper()
    earlier = functions.get(key)
    if earlier is not None and written.if_not_exists:
        return
    _check_name(name, earlier)
    functions[key] = DeclaredFunction(None, name.span)
    types = _declared_types(written)
    try:
        loaded = _loaded(written, load)
        function = register(loaded, _agreed(written, types, loaded))
    except FsqlError as error:  # the function is not deterministic
        raise Refusal(replace(error.diagnostics[0], primary=Label(written.body.span))) from None
    functions[key] = DeclaredFunction(replace(function, spellings=(key,)), name.span)


def _check_name(name: syntax.Identifier, earlier: DeclaredFunction | None) -> None:
    if name.name.upper() in _TAKEN:
        raise refusal(
            "E205",
            f'function "{name.name}" has the name of a function of fsql',
            name.span,
            help="choose another name",
        )
    if earlier is not None:
        raise refusal(
            "E205",
            f'function "{name.name}" is declared more than once',
            name.span,
            secondary=(Label(earlier.span, "first here"),),
        )


def _declared_types(written: syntax.CreateFunction) -> Types | None:
    """Return the types that the statement declares; None if it leaves them to the decorator.

    Raises:
        Refusal: E205, E216, E301.
    """
    if written.language.name.upper() != "PYTHON":
        raise not_implemented(
            f"functions in {written.language.name.upper()}",
            written.language.span,
            help="write it in Python: LANGUAGE PYTHON",
        )
    if written.aggregate:
        raise not_implemented("aggregate functions in Python", written.span)
    returns = written.returns
    if isinstance(returns, tuple):
        raise not_implemented("table functions in Python", written.span)
    if returns is None:
        return None
    names: dict[str, Span] = {}
    for parameter in written.parameters:
        first = names.setdefault(parameter.name.name.upper(), parameter.name.span)
        if first is not parameter.name.span:
            raise refusal(
                "E205",
                f'parameter "{parameter.name.name}" is declared more than once',
                parameter.name.span,
                secondary=(Label(first, "first here"),),
            )
    return Types(tuple(bind_type(each.type) for each in written.parameters), bind_type(returns))


def _loaded(written: syntax.CreateFunction, load: Load) -> PythonFunction:
    try:
        return load(written.body.value)
    except LoadError as error:
        raise refusal(error.code, str(error), written.body.span, help=error.help) from None


def _agreed(written: syntax.CreateFunction, types: Types | None, loaded: PythonFunction) -> Types:
    """Return the types of the function, which statement and decorator must agree on.

    Raises:
        Refusal: E411.
    """
    if types is None and loaded.types is None:
        raise refusal(
            "E411",
            f'function "{loaded.entry}" has no types',
            written.body.span,
            help="declare them: CREATE FUNCTION f(a TYPE, …) RETURNS TYPE LANGUAGE PYTHON AS"
            f" '{loaded.entry}'",
        )
    if types is not None and loaded.types is not None and types != loaded.types:
        raise refusal(
            "E411",
            f'function "{loaded.entry}" has other types in its module',
            written.body.span,
            note=f"CREATE FUNCTION declares {types}, and @fsql.udf {loaded.types}",
        )
    agreed = types or loaded.types
    assert agreed is not None
    return agreed
