"""Programs written in Python, which scripts declare with CREATE PROGRAM and run with RUN.

A program is a running aggregate: its state is that of a partition, and each event has the rows that it
causes, as an array, from which UNNEST makes rows.

    events ─▶ ROW<rows ARRAY<ROW<…>>, failure STRING>, by the state of their key ─▶ UNNEST(rows), or E508

An event that fails leaves the state as it was.  States are values of SQL types, so engine, snapshots and undo
only need how to process one more event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.python_aggregates import RememberedFailure, failure_text
from fsql.compiler.functions.python_functions import (
    PREFIX,
    PROBES,
    LoadError,
    PythonFunction,
    RaisedFailure,
    Types,
    WrongResultFailure,
    list_rows,
    not_deterministic,
    register,
    sample,
)
from fsql.compiler.functions.python_values import NotOfTypeError, from_python, to_python
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import STRING, array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.functions.failure import RowFailure
    from fsql.compiler.functions.signature import Function
    from fsql.compiler.sqltypes import SqlType
    from fsql.programs.program import Program

Columns = tuple[tuple[str, "SqlType"], ...]
"""Names with their types."""


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program of a module, with the SQL types that its decorator declares as text."""

    entry: str
    digest: str
    program: Program
    states: tuple[SqlType, ...]
    tag: SqlType
    columns: Columns

    @property
    def name(self) -> str:
        """Return the name within the module."""
        return self.entry.rpartition(":")[2]


class PythonProgram:
    """A program of plans, over events with certain columns.

    The value of an event is `type`, a ROW of the rows that it causes and of what it has failed with; `failed`
    is the scalar function that raises the latter.  The first `PROBES` calls are made twice and compared.
    """

    def __init__(self, name: str, loaded: LoadedProgram, taken: Columns) -> None:
        """Create the first state.

        Raises:
            LoadError: E411, if that fails.
        """
        self.name = name
        self.loaded = loaded
        self.taken = taken
        self.rows = array_of(row_of(loaded.columns))
        self.type = row_of((("rows", self.rows), ("failure", STRING)))
        self.state = loaded.states[0]
        self.failed = self._failed()
        self._probes_left = PROBES
        first, second = self._init(), self._init()
        if repr(first) != repr(second):
            note = f"init returned {first!r}, and then {second!r}"
            raise not_deterministic(loaded.name, note)
        self.first: Value = first

    def advance(self, state: Value, event: Value) -> tuple[Value, Value]:
        """Return the state after an event, which is its tag and its columns, and the value of the event.

        Raises:
            FsqlError: E402, if the program is not deterministic.
        """
        assert isinstance(event, tuple)
        made = self._step(state, event)
        if self._probes_left:
            self._probes_left -= 1
            again = self._step(state, event)
            if repr(made) != repr(again):
                told = f"update of {state!r} by {event!r}"
                raise not_deterministic(
                    self.loaded.name, f"{told} returned {made!r}, and then {again!r}"
                )
        return made

    def over(self, events: Sequence[Value]) -> Value:
        """Return the value of the last of some events; NULL if there are none."""
        state, value = self.first, None
        for event in events:
            state, value = self.advance(state, event)
        return value

    def failure(self, value: Value) -> RowFailure | None:
        """Return what the event with this value has failed with."""
        text = value[1] if isinstance(value, tuple) else None
        return RememberedFailure(text) if isinstance(text, str) else None

    def _init(self) -> Value:
        try:
            return from_python(self.loaded.program.init(), self.state)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it cannot be used
            told = f"returned {error}" if isinstance(error, NotOfTypeError) else f"raised {error!r}"
            raise LoadError(f'"{self.loaded.entry}" has no first state: init {told}') from None

    def _step(self, state: Value, event: tuple[Value, ...]) -> tuple[Value, Value]:
        tag, *values = event
        name = f"{self.loaded.name}.update"
        # New objects for each call: the program may modify what it is given.
        pairs = zip(self.taken, values, strict=True)
        row = {column: to_python(value, type_) for (column, type_), value in pairs}
        try:
            returned = self.loaded.program.update(
                0, to_python(state, self.state), to_python(tag, self.loaded.tag), row
            )
            after, rows = _pair(returned)
            listed = list_rows(rows, self.loaded.columns)
            return from_python(after, self.state), (from_python(listed, self.rows), None)
        except NotOfTypeError as error:
            failure: RowFailure = WrongResultFailure(name, error)
        except MemoryError:
            raise  # does not depend on the event
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the event fails
            failure = RaisedFailure(name, error)
        return state, (None, failure_text(failure))

    def _failed(self) -> Function:
        """Return the scalar function that raises the failure of an event."""

        def fail(text: object) -> object:
            raise RememberedFailure(str(text))

        loaded = self.loaded
        python = PythonFunction(f"{loaded.entry}.update", loaded.digest, fail)
        return register(python, Types((STRING,), self.rows), sampled=False)


def _pair(returned: object) -> tuple[object, object]:
    """Return the state and the rows that an update returned.

    Raises:
        NotOfTypeError: it is something else.
    """
    if not isinstance(returned, tuple) or len(returned) != len(("state", "rows")):
        raise NotOfTypeError(f"a value of type {type(returned).__name__}, not (state, rows)")
    return returned[0], returned[1]


_REGISTERED: Final[dict[str, PythonProgram]] = {}


def registered_program(name: str) -> PythonProgram:
    """Return the program that has that name in plans."""
    return _REGISTERED[name]


def register_program(loaded: LoadedProgram, taken: Columns) -> PythonProgram:
    """Return the program of plans over events with these columns.

    Raises:
        LoadError: E411.
        FsqlError: E402, if it is not deterministic with a sample of events.
    """
    columns = ", ".join(f"{name} {type_}" for name, type_ in taken)
    name = f"{PREFIX}{loaded.entry}({columns}) {loaded.states[0]} {loaded.digest}"
    known = _REGISTERED.get(name)
    if known is None:
        known = PythonProgram(name, loaded, taken)
        known.over(list(sample((loaded.tag, *(type_ for _, type_ in taken)))))
        _REGISTERED[name] = known
    return known


def check_key(loaded: LoadedProgram) -> None:
    """Check with a sample of tags that events that differ in the key do not depend on each other.

    Raises:
        FsqlError: E411, if they do.
    """
    program = loaded.program
    if not program.key:
        return
    fields = [name for name, _ in loaded.tag.fields]
    for field in program.key:
        if field not in fields:
            names = ", ".join(fields)
            raise LoadError(
                f'key of program "{loaded.entry}" has "{field}", which is no field of its tag',
                f"the tag has {names}",
            )
    tags = [to_python(tag, loaded.tag) for tag in sample(loaded.tag.field_types)]
    for tag in tags:
        for other in tags:
            if program.key_of(tag) != program.key_of(other) and _depends(
                program.depends, tag, other
            ):
                message = f"program {loaded.name} depends on events of other keys"
                note = f"depends({tag!r}, {other!r}) is true, and they differ in the key"
                help_ = "leave out key, or let depends compare its fields"
                raise FsqlError([Diagnostic("E411", message, notes=(note,), helps=(help_,))])


def _depends(depends: Callable[[object, object], bool], tag: object, other: object) -> bool:
    try:
        return bool(depends(tag, other))
    except Exception:  # noqa: BLE001 - a sample may have tags that no event has
        return False
