"""CREATE FUNCTION: the functions in Python that a script declares."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.ddl.declared_functions import DeclaredFunction
from fsql.compiler.binder.expressions.row_time import CURRENT_WATERMARK
from fsql.compiler.binder.expressions.type_names import bind_type
from fsql.compiler.binder.report import Refusal, check_distinct, not_implemented, refusal
from fsql.compiler.binder.tables import simple_name
from fsql.compiler.diagnostics import FsqlError, Label
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.python_aggregates import LoadedAggregate, register_aggregate
from fsql.compiler.functions.python_functions import LoadError, Types, register
from fsql.compiler.functions.ranks import OVER_ONLY
from fsql.compiler.functions.refused import NOT_DETERMINISTIC, WINDOW_FUNCTIONS
from fsql.compiler.functions.table import CALLABLE
from fsql.compiler.sqltypes import array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler import syntax
    from fsql.compiler.functions.python_functions import Load, PythonFunction
    from fsql.compiler.functions.python_programs import LoadedProgram
    from fsql.compiler.sqltypes import SqlType

    Loaded = PythonFunction | LoadedAggregate | LoadedProgram

_TAKEN: Final = frozenset(
    {
        *CALLABLE,
        *AGGREGATES,
        *OVER_ONLY,
        *NOT_DETERMINISTIC,
        *WINDOW_FUNCTIONS,
        *("GROUPING", "GROUPING_ID", "IF", "EXPLODE", "RUN", CURRENT_WATERMARK),
    }
)


def create_function(
    written: syntax.CreateFunction,
    functions: dict[str, DeclaredFunction],
    load: Load,
    zone: str,
) -> None:
    """Add a function to those of the script, even if it is refused; calls then cause no further errors.

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
    types = declared_types(written, zone)
    try:
        functions[key] = _register(written, key, types, partial(load, zone=zone))
    except LoadError as error:
        raise refusal(error.code, str(error), written.body.span, help=error.help) from None
    except FsqlError as error:  # the function is not deterministic
        raise Refusal(replace(error.diagnostics[0], primary=Label(written.body.span))) from None


def _register(
    written: syntax.CreateFunction,
    key: str,
    types: Types | None,
    load: Callable[[str], Loaded],
) -> DeclaredFunction:
    """Return the function of a module, with the types that the statement declares.

    Raises:
        LoadError, FsqlError: as `load` and `register`.
        Refusal: E411.
    """
    from fsql.compiler.functions.python_programs import LoadedProgram, check_key

    loaded = load(written.body.value)
    if isinstance(loaded, LoadedProgram) != written.program:
        raise _other_kind(written, loaded)
    if isinstance(loaded, LoadedProgram):
        check_key(loaded)
        return DeclaredFunction(loaded, written.name.span)
    agreed = _agree_on_types(written, types, loaded)
    if isinstance(loaded, LoadedAggregate):
        if agreed.is_table or not agreed.parameters:
            raise refusal(
                "E411",
                f'aggregate function "{loaded.entry}" takes arguments and returns one value',
                written.body.span,
            )
        return DeclaredFunction(register_aggregate(loaded, agreed), written.name.span)
    if written.aggregate:
        raise refusal(
            "E411",
            f'function "{loaded.entry}" is not an aggregate function',
            written.body.span,
            help="declare a class with @fsql.udaf, which has create_accumulator, accumulate and get_value",
        )
    function = replace(register(loaded, agreed), spellings=(key,))
    return DeclaredFunction(function, written.name.span, agreed.is_table)


def _other_kind(written: syntax.CreateFunction, loaded: Loaded) -> Refusal:
    """Return the refusal of a program that is declared as a function, or of another thing as a program."""
    name = written.name.parts[-1].name
    body = f"{name} AS '{loaded.entry}' LANGUAGE PYTHON"
    if written.program:
        message = f'"{loaded.entry}" is not a program'
        help_ = "declare a class with @fsql.program, which has init, update and depends"
    else:
        message, help_ = f'"{loaded.entry}" is a program', f"write CREATE PROGRAM {body}"
    return refusal("E411", message, written.body.span, help=help_)


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


def declared_types(written: syntax.CreateFunction, zone: str) -> Types | None:
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
    returns = written.returns
    if returns is None:
        return None
    check_distinct((each.name for each in written.parameters), "parameter")
    parameters = tuple(_type_of(each.type, zone) for each in written.parameters)
    if not isinstance(returns, tuple):
        return Types(parameters, _type_of(returns, zone))
    check_distinct((each.name for each in returns), "column")
    columns = tuple((each.name.name, _type_of(each.type, zone)) for each in returns)
    return Types(parameters, array_of(row_of(columns)), is_table=True)


def _type_of(name: syntax.TypeName, zone: str) -> SqlType:
    """Return the type of a parameter or result: times have microseconds in Python, whatever their digits."""
    return bind_type(name, zone).without_fraction


def _agree_on_types(
    written: syntax.CreateFunction, types: Types | None, loaded: PythonFunction | LoadedAggregate
) -> Types:
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
            note=f"CREATE FUNCTION declares {types}, and its decorator {loaded.types}",
        )
    agreed = types or loaded.types
    assert agreed is not None
    return agreed
