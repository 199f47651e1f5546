"""Loads the functions of scripts from Python modules in declared folders.

A module is one file in a folder; `text.words:stem` is the function `stem` in `text/words.py`.  The module is
executed from the same bytes from which the digest was computed.  Folders are not on `sys.path`: a module can
import installed packages, but no other file of its folder, so that its digest identifies it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn

from fsql.compiler.binder.ddl.python_functions import declared_types
from fsql.compiler.binder.report import Refusal
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.expression import Call, walk_with_bodies
from fsql.compiler.functions.python_aggregates import LoadedAggregate
from fsql.compiler.functions.python_functions import (
    LoadError,
    PythonFunction,
    Types,
    entry_and_digest,
    refuse_loading,
)
from fsql.compiler.parser import parse_script
from fsql.compiler.records import dataclass
from fsql.compiler.syntax import CreateFunction
from fsql.compiler.text.source import SourceText
from fsql.job.udf import FunctionKind, declaration_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from fsql.compiler.functions.python_functions import Load
    from fsql.compiler.functions.python_programs import LoadedProgram
    from fsql.compiler.logical import Job
    from fsql.compiler.sqltypes import SqlType
    from fsql.job.udf import Declaration

    Loaded = PythonFunction | LoadedAggregate | LoadedProgram


@dataclass(frozen=True, slots=True)
class Registered:
    """A function that a program has registered; `digest` is of this function only, in this process."""

    function: Callable[..., object]
    digest: str


_ENTRY: Final = re.compile(r"((?:[^\W\d]\w*\.)*[^\W\d]\w*)[:.]([^\W\d]\w*)")


_NONE_REGISTERED: Final[Mapping[str, Registered]] = MappingProxyType({})


def loader(
    folders: Sequence[Path],
    expected: Mapping[str, str],
    registered: Mapping[str, Registered] = _NONE_REGISTERED,
) -> Load:
    """Return a loader of functions from modules; the first of `folders` that has a module is used.

    `expected` has the digests that modules must have, by the name of the module; `registered` the functions
    of the program, by their entry.
    """

    def load(entry: str, zone: str) -> Loaded:
        known = registered.get(entry)
        if known is not None:
            return function_of(known.function, entry, known.digest, zone)
        if not folders:
            return refuse_loading(entry, zone)
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise LoadError(f'"{entry}" is not of the form module:name')
        name, attribute = match.groups()
        source, path = _read(name, folders)
        digest = hashlib.sha256(source).hexdigest()
        if expected.get(name, digest) != digest:
            raise _change_error(name, path)
        return _function_of(_module(name, path, source, digest), name, attribute, digest, zone)

    return load


def modules_of(job: Job) -> dict[str, str]:
    """Return the digest of each module whose functions a job calls, by its name, sorted."""
    found: dict[str, str] = {}
    for insert in job.inserts:
        for node in walk_with_bodies(insert):
            known = entry_and_digest(node.function) if isinstance(node, Call) else None
            if known is not None:
                found[known[0].partition(":")[0]] = known[1]
    return dict(sorted(found.items()))


def module_digest(name: str, folders: Sequence[Path]) -> str:
    """Return the digest of the module that is found in the folders.

    Raises:
        LoadError: E411, if there is none.
    """
    source, _ = _read(name, folders)
    return hashlib.sha256(source).hexdigest()


def functions_of(job: Job) -> tuple[str, ...]:
    """Return the functions in Python that a job calls, each as `module:name`, sorted."""
    nodes = (node for insert in job.inserts for node in walk_with_bodies(insert))
    calls = (node for node in nodes if isinstance(node, Call))
    known = (entry_and_digest(call.function) for call in calls)
    return tuple(sorted({each[0] for each in known if each is not None}))


def _read(name: str, folders: Sequence[Path]) -> tuple[bytes, Path]:
    """Return the source of a module, and its file.

    Raises:
        LoadError: E411, if no folder has it.
    """
    parts = name.split(".")
    for folder in folders:
        path = folder.joinpath(*parts[:-1], f"{parts[-1]}.py")
        try:
            return path.read_bytes(), path
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise LoadError(f'module "{name}" cannot be read: {reason}: {path}') from None
    where = " or ".join(f'"{folder}"' for folder in folders)
    raise LoadError(
        f'module "{name}" is not in {where}',
        "modules are searched in the folders of --functions, nowhere else",
    )


def _change_error(name: str, path: Path) -> LoadError:
    return LoadError(
        f'module "{name}" has changed since the job was started or compiled: {path}',
        "restore the module; or compile the script again, or start with another state directory",
        code="E608",
    )


class _Source(SourceFileLoader):
    """Loads a module from bytes that were read already, never from the cache of compiled files."""

    def __init__(self, name: str, path: Path, source: bytes) -> None:
        super().__init__(name, str(path))
        self._source = source

    def path_stats(self, path: str) -> NoReturn:
        """Say that there is no file, so that no compiled one is read or written."""
        raise FileNotFoundError(path)

    def get_data(self, path: str) -> bytes:  # noqa: ARG002 - of the interface
        """Return the text of the module."""
        return self._source


@lru_cache(maxsize=256)
def _module(name: str, path: Path, source: bytes, digest: str) -> ModuleType:
    """Return the module, executed once in this process.

    Raises:
        LoadError: E411, if it fails.
    """
    # A name that no import statement can find; dataclasses and the like look up their module.
    unique = f"fsql functions {digest} {name}"
    spec = importlib.util.spec_from_loader(unique, _Source(unique, path, source))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    sys.modules[unique] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the module cannot be used
        del sys.modules[unique]
        text = " ".join(str(error).split())
        message = f'module "{name}" cannot be loaded: {type(error).__name__}: {text}'
        raise LoadError(message, f"it is {path}") from None
    return module


def _function_of(module: ModuleType, name: str, attribute: str, digest: str, zone: str) -> Loaded:
    """Return the function of a module.

    Raises:
        LoadError: E411, if there is none, or its decorator is wrong.
    """
    entry = f"{name}:{attribute}"
    found = getattr(module, attribute, None)
    if found is None:
        raise LoadError(f'module "{name}" has no function "{attribute}"')
    return function_of(found, entry, digest, zone)


def function_of(found: object, entry: str, digest: str, zone: str) -> Loaded:
    """Return a Python object as a function for scripts with a time zone.

    Raises:
        LoadError: E411, if it is not a function, or its decorator is wrong.
    """
    from fsql.programs.declaration import is_program

    if is_program(found):
        return _program_of(found, entry, digest, zone)
    if not callable(found):
        raise LoadError(f'"{entry}" is a {type(found).__name__}, not a function')
    if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
        raise LoadError(
            f'"{entry}" is asynchronous, and results may depend on the arguments only',
            "to look something up, join with a table: FOR SYSTEM_TIME AS OF",
        )
    declaration = declaration_of(found)
    if declaration is None:
        return PythonFunction(entry, digest, found)
    if declaration.kind is FunctionKind.AGGREGATE:
        return _aggregate_of(found, declaration, entry, digest, zone)
    types = _types_of(declaration, entry, zone)
    if not declaration.vectorized:
        return PythonFunction(entry, digest, found, types, strict=declaration.strict)
    # Arrow takes time to import; most scripts have no such functions.
    from fsql.runtime.kernels.expressions.python_arrays import (
        ARRAY_KINDS,
        check_alone,
        over_one_row,
    )

    for each in (*types.parameters, types.returns):
        if each.kind not in ARRAY_KINDS:
            raise LoadError(f'"{entry}" is vectorized, and such functions have no {each}')
    check_alone(entry.rpartition(":")[2], found, types)
    compute = over_one_row(found, types)
    return PythonFunction(entry, digest, compute, types, strict=declaration.strict, arrays=found)


_METHODS: Final = ("create_accumulator", "accumulate", "get_value")


def _aggregate_of(
    found: Callable[..., object], declaration: Declaration, entry: str, digest: str, zone: str
) -> LoadedAggregate:
    """Return a class as an aggregate function.

    Raises:
        LoadError: E411, if it lacks a method, or cannot be created.
    """
    try:
        made = found()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it cannot be used
        raise LoadError(f'"{entry}" cannot be created: {type(error).__name__}: {error}') from None
    methods = {name: getattr(made, name, None) for name in (*_METHODS, "retract")}
    for name in _METHODS:
        if not callable(methods[name]):
            raise LoadError(
                f'aggregate function "{entry}" has no method {name}',
                f"it needs {', '.join(_METHODS[:-1])} and {_METHODS[-1]}",
            )
    types = _types_of(declaration, entry, zone)
    if not types.parameters:
        raise LoadError(f'aggregate function "{entry}" has no parameters')
    assert declaration.state is not None
    state = _parse_types((declaration.state,), declaration.returns, declaration.kind, entry, zone)
    callables = {name: method for name, method in methods.items() if callable(method)}
    return LoadedAggregate(
        entry, digest, callables, state.parameters[0], types, strict=declaration.strict
    )


def _program_of(found: object, entry: str, digest: str, zone: str) -> LoadedProgram:
    """Return a class that `@fsql.program` declares as a program.

    Raises:
        LoadError: E411, if it cannot be created, or its types are not valid.
    """
    from fsql.compiler.functions.python_programs import LoadedProgram
    from fsql.programs.declaration import program_of

    assert isinstance(found, type)
    try:
        program = program_of(found)
    except TypeError as error:
        raise LoadError(f'"{entry}": {error}') from None

    def type_of(text: str, what: str) -> SqlType:
        try:
            types = _parse_types((text,), "INT", FunctionKind.SCALAR, entry, zone)
        except LoadError as error:
            reason = str(error).partition(": ")[2]
            raise LoadError(f'{what} of program "{entry}" is no SQL type: {reason}') from None
        return types.parameters[0]

    try:
        listed = f"TABLE ({', '.join(program.columns)})"
        rows = _parse_types((), listed, FunctionKind.TABLE, entry, zone).returns.element
    except LoadError as error:
        raise LoadError(f'columns of program "{entry}": {str(error).partition(": ")[2]}') from None
    assert rows is not None
    states = tuple(type_of(each.type, f'state type "{each.name}"') for each in program.states)
    return LoadedProgram(entry, digest, program, states, type_of(program.tag, "tag"), rows.fields)


def _types_of(declaration: Declaration, entry: str, zone: str) -> Types:
    return _parse_types(declaration.parameters, declaration.returns, declaration.kind, entry, zone)


def _parse_types(
    parameters: tuple[str, ...], returns: str, kind: FunctionKind, entry: str, zone: str
) -> Types:
    """Return the types that a decorator declares.

    Raises:
        LoadError: E411, if they are not valid.
    """
    decorator = f"@fsql.{kind.value}"
    listed = ", ".join(f"p{i} {text}" for i, text in enumerate(parameters))
    text = f"CREATE FUNCTION f({listed}) RETURNS {returns} LANGUAGE PYTHON AS ''"
    try:
        (statement,) = parse_script(SourceText(decorator, text), {}).statements
        assert isinstance(statement, CreateFunction)
        types = declared_types(statement, zone)
        is_table = kind is FunctionKind.TABLE
        if types is None or len(types.parameters) != len(parameters) or types.is_table != is_table:
            raise LoadError(f'{decorator} of "{entry}" has an invalid type')
    except FsqlError as error:
        reason = error.diagnostics[0].message
    except Refusal as refusal:
        reason = refusal.diagnostic.message
    else:
        return types
    raise LoadError(f'{decorator} of "{entry}": {reason}')
