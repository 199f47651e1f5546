"""Functions written in Python, which scripts declare with CREATE FUNCTION.

A plan names such a function by where it is, its types, and the digest of its module, as in
`python text:slug(STRING) STRING 5ab1…`.  So plans are equal only if their functions have the same source.
Each process that compiles a plan loads the modules and registers the functions here, by that name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.python_values import NotOfTypeError, from_python, to_python
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import TIMESTAMP_MAX, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.functions.python_aggregates import LoadedAggregate
    from fsql.compiler.functions.python_programs import LoadedProgram
    from fsql.compiler.sqltypes import SqlType

PREFIX: Final = "python "
"""How the names of these functions in plans begin; no name of another function has a space."""
ROWS_OF_CALL_MAX: Final = 100_000
"""A call of a table function with more rows fails, as one that never ends would take all memory."""
PROBES: Final = 32
"""How many calls of a function are made twice in each process, to find one that is not deterministic."""
_EXCERPT_CHARACTERS_MAX: Final = 200


class RaisedFailure(RowFailure):
    """E508: a Python function raised an exception."""

    code = 508

    def __init__(self, name: str, error: Exception | SystemExit) -> None:
        text = " ".join(str(error).split())
        if len(text) > _EXCERPT_CHARACTERS_MAX:
            text = text[: _EXCERPT_CHARACTERS_MAX - 1] + "…"
        super().__init__(f"{name} raised {type(error).__name__}{text and f': {text}'}")


class WrongResultFailure(RowFailure):
    """E509: a Python function returned a value that is not of its type."""

    code = 509

    def __init__(self, name: str, error: NotOfTypeError) -> None:
        super().__init__(f"{name} returned {error}")


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a function's parameters, and of its result.

    That of a table function is the array of its rows.
    """

    parameters: tuple[SqlType, ...]
    returns: SqlType
    is_table: bool = False

    def __str__(self) -> str:
        """Return the types as SQL writes them: `(STRING, INT) STRING`, `(STRING) TABLE(word STRING)`."""
        parameters = f"({', '.join(map(str, self.parameters))})"
        if not self.is_table:
            return f"{parameters} {self.returns}"
        columns = ", ".join(f"{name} {type_}" for name, type_ in columns_of(self))
        return f"{parameters} TABLE({columns})"


def columns_of(types: Types) -> tuple[tuple[str, SqlType], ...]:
    """Return the columns of a table function."""
    assert types.returns.element is not None
    return types.returns.element.fields


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of a module.

    `entry` is where it is, as `module:name`, `digest` that of its module's source.  It takes and returns
    values as `python_values` describes them.  One that is `strict` is NULL where an argument is, and is
    not called.  `types` are those that its decorator declares, if it does.  `arrays` computes many rows at
    once, from Arrow arrays; `compute` gives the same for one.
    """

    entry: str
    digest: str
    compute: Callable[..., object]
    types: Types | None = None
    strict: bool = True
    arrays: Callable[..., object] | None = None

    @property
    def name(self) -> str:
        """Return the name within the module."""
        return self.entry.rpartition(":")[2]


class LoadError(Exception):
    """A Python function cannot be loaded; `code` is that of the diagnostic."""

    def __init__(self, message: str, help: str | None = None, code: str = "E411") -> None:
        super().__init__(message)
        self.help = help
        self.code = code


class Load(Protocol):
    """Loads the function at `module:name`, for a script with a time zone."""

    def __call__(self, entry: str, zone: str) -> PythonFunction | LoadedAggregate | LoadedProgram:
        """Return the function.

        Raises:
            LoadError: if there is none, or its module cannot be loaded.
        """


def refuse_loading(entry: str, zone: str) -> PythonFunction | LoadedAggregate | LoadedProgram:
    """Refuse every function: there is no directory for functions.

    Raises:
        LoadError: E411, always.
    """
    del zone
    raise LoadError(
        f'function "{entry}" cannot be loaded: no folder of functions is declared',
        "name the folder of its module: --functions DIR",
    )


_REGISTERED: Final[dict[str, Function]] = {}
_LOADED: Final[dict[str, PythonFunction]] = {}


def find_function(name: str) -> Function | None:
    """Return the function that has that name in plans."""
    return _REGISTERED.get(name)


def loaded_function(name: str) -> PythonFunction:
    """Return the function of the module that has that name in plans; it is registered."""
    return _LOADED[name]


def register(python: PythonFunction, types: Types, *, sampled: bool = True) -> Function:
    """Return the function of plans, which every plan of this process can use from then on.

    It is called with a sample of values if `sampled`.

    Raises:
        FsqlError: E402, if two calls with the same sample of values differ.
    """
    name = f"{PREFIX}{python.entry}{types} {python.digest}"
    known = _REGISTERED.get(name)
    if known is not None:
        return known
    called = replace(python, compute=rows_of(python.compute, types)) if types.is_table else python
    scalar = _Scalar(called, types)
    for row in sample(types.parameters) if sampled else ():
        scalar.probe(row)
    signature = Signature(types.parameters, types.returns, scalar, fallible=True)
    function = Function(
        name, (python.name,), (signature,), Nullability.ALWAYS, strict=python.strict
    )
    _REGISTERED[name] = function
    _LOADED[name] = python
    return function


def shown_name(name: str) -> str:
    """Return the name of a function in a plan as it is shown: without types and digest."""
    return name.removeprefix(PREFIX).partition("(")[0].rpartition(":")[2]


def entry_and_digest(name: str) -> tuple[str, str] | None:
    """Return `module:name`, and the digest of the module; None if the name is that of another function."""
    if not name.startswith(PREFIX):
        return None
    module, _, function = name.removeprefix(PREFIX).partition("(")[0].partition(":")
    return f"{module}:{function.partition('.')[0]}", name.rpartition(" ")[2]


def not_deterministic(
    name: str,
    note: str,
    help: str = "compute the result from the arguments only: no clock, no random numbers",
) -> FsqlError:
    """Return the error of a function whose calls differ."""
    message = f"function {name} is not deterministic"
    return FsqlError([Diagnostic("E402", message, notes=(note,), helps=(help,))])


class _Scalar:
    """Computes the value of one row.  The first `PROBES` calls are made twice and compared."""

    def __init__(self, python: PythonFunction, types: Types) -> None:
        self._python = python
        self._types = types
        self._probes_left = PROBES

    def __call__(self, *values: Value) -> Value:
        """Return the value.

        Raises:
            RowFailure: E508 or E509, if the function fails.
            FsqlError: E402, if it is not deterministic.
        """
        if self._probes_left:
            self._probes_left -= 1
            self.probe(values)
        return self._value(values)

    def probe(self, values: Sequence[Value]) -> None:
        """Call the function twice and compare.

        Raises:
            FsqlError: E402, if the calls differ.
        """
        first, second = self._outcome(values), self._outcome(values)
        if first != second:
            given = ", ".join(repr(each) for each in self._python_arguments(values))
            raise not_deterministic(
                self._python.name, f"for ({given}) one call {first}, and the next {second}"
            )

    def _outcome(self, values: Sequence[Value]) -> str:
        try:
            return f"returned {self._value(values)!r}"
        except RowFailure as failure:
            return str(failure).removeprefix(f"{self._python.name} ")

    def _python_arguments(self, values: Sequence[Value]) -> list[object]:
        # Made again for each call: the function may change a list that it is given.
        pairs = zip(values, self._types.parameters, strict=True)
        return [to_python(value, type_) for value, type_ in pairs]

    def _value(self, values: Sequence[Value]) -> Value:
        name = self._python.name
        given = self._python_arguments(values)
        try:
            result = self._python.compute(*given)
        except NotOfTypeError as error:
            raise WrongResultFailure(name, error) from None
        except (MemoryError, RowFailure):
            raise  # the first does not depend on the row, the second is of an earlier call
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the row fails
            raise RaisedFailure(name, error) from None
        try:
            return from_python(result, self._types.returns)
        except NotOfTypeError as error:
            raise WrongResultFailure(name, error) from None


def rows_of(compute: Callable[..., object], types: Types) -> Callable[..., object]:
    """Return a table function, which yields rows, as one that returns the list of them."""
    columns = columns_of(types)

    def rows_of_call(*given: object) -> object:
        return list_rows(compute(*given), columns)

    return rows_of_call


def list_rows(made: object, columns: Sequence[tuple[str, SqlType]]) -> list[object]:
    """Return the rows that Python code returned or yields, each as a dict by columns.

    Raises:
        NotOfTypeError: they are something else, or too many.
    """
    if made is None:
        return []
    if not isinstance(made, Iterable) or isinstance(made, str | bytes | dict):
        raise NotOfTypeError(f"a value of type {type(made).__name__}, not rows")
    rows: list[object] = [_as_row(each, columns) for each in islice(made, ROWS_OF_CALL_MAX + 1)]
    if len(rows) > ROWS_OF_CALL_MAX:
        raise NotOfTypeError(f"more than {ROWS_OF_CALL_MAX:,} rows")
    return rows


def _as_row(given: object, columns: Sequence[tuple[str, SqlType]]) -> dict[object, object]:
    """Return a row, which is a tuple, a list, a dict, or the value of the only column."""
    if isinstance(given, dict):
        return given
    if isinstance(given, tuple) or (isinstance(given, list) and len(columns) > 1):
        if len(given) != len(columns):
            raise NotOfTypeError(f"a row of {len(given)} values, not of {len(columns)}")
        return {name: value for (name, _), value in zip(columns, given, strict=True)}
    if len(columns) > 1:
        raise NotOfTypeError(f"a row of type {type(given).__name__}, not a tuple")
    return {columns[0][0]: given}


_SAMPLES: Final[Mapping[Kind, tuple[Value, ...]]] = {
    Kind.BOOLEAN: (True, False),
    Kind.STRING: ("a", "", "Été 42"),
    Kind.BYTES: ("a", "", "\x00\xff"),
    Kind.FLOAT: (1.5, 0.0, -2.0),
    Kind.DOUBLE: (1.5, 0.0, -2.0),
    Kind.TIMESTAMP: (0, 1_767_225_600_000_000, TIMESTAMP_MAX),
}
_NUMBERS: Final[tuple[Value, ...]] = (1, 0, 7)


def sample(types: Sequence[SqlType]) -> list[tuple[Value, ...]]:
    """Return a few rows of values of these types."""
    columns = [list(islice(cycle(_samples(each)), len(_NUMBERS))) for each in types]
    return list(zip(*columns, strict=True)) if columns else [()]


def _samples(type_: SqlType) -> tuple[Value, ...]:
    if type_.kind is Kind.MAP:
        return (tuple((key, _samples(type_.value)[0]) for key in _samples(type_.key)[:1]), ())
    if type_.element is not None:
        return (_samples(type_.element), ())
    if type_.fields:
        return (tuple(_samples(each)[0] for each in type_.field_types),)
    return _SAMPLES.get(type_.kind, _NUMBERS)
