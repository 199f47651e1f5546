"""Aggregate functions written in Python, which scripts declare with CREATE AGGREGATE FUNCTION.

The aggregate of a group is its accumulator, a value of a SQL type like any other: of the function, engine,
snapshots and undo only need how to accumulate one more row.  A scalar function above the aggregate computes
its result.  If the function raises, the accumulator keeps the failure, and the scalar function raises it when
the result is needed.

    rows of a group ─▶ ROW<state S, failure STRING> ─▶ get_value(state), or E508
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.python_functions import (
    PREFIX,
    PROBES,
    LoadError,
    PythonFunction,
    RaisedFailure,
    Types,
    WrongResultFailure,
    not_deterministic,
    register,
    sample,
)
from fsql.compiler.functions.python_values import NotOfTypeError, from_python, to_python
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import STRING, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.functions.signature import Function
    from fsql.compiler.sqltypes import SqlType


@dataclass(frozen=True, slots=True)
class LoadedAggregate:
    """An aggregate function of a module: an object with its methods, and the type of its accumulators.

    `methods` has `create_accumulator`, `accumulate` and `get_value`, and `retract` if the function has it.
    One that is `strict` ignores rows with a NULL among its arguments.
    """

    entry: str
    digest: str
    methods: Mapping[str, Callable[..., object]]
    state: SqlType
    types: Types | None = None
    strict: bool = True

    @property
    def name(self) -> str:
        """Return the name within the module."""
        return self.entry.rpartition(":")[2]


class PythonAggregate:
    """An aggregate function of plans.  Accumulators are values of `state`; they are never modified.

    The first `PROBES` calls of a method are made twice and compared.
    """

    def __init__(self, name: str, loaded: LoadedAggregate, types: Types) -> None:
        """Create the accumulator of an empty group.

        Raises:
            LoadError: E411, if that fails.
        """
        self.name = name
        self.loaded = loaded
        self.types = types
        self.state = row_of((("state", loaded.state), ("failure", STRING)))
        self.result = self._result()
        self._probes_left = PROBES
        try:
            self.empty: Value = (from_python(self._call("create_accumulator"), loaded.state), None)
        except (RowFailure, NotOfTypeError) as error:
            raise LoadError(f'"{loaded.entry}" has no empty accumulator: {error}') from None

    @property
    def retracts(self) -> bool:
        """Return whether rows can be taken out of an accumulator."""
        return "retract" in self.loaded.methods

    def accumulate(self, accumulator: Value, given: Value) -> Value:
        """Return the accumulator with the arguments of one row added; several are a tuple."""
        return self._checked_step("accumulate", accumulator, given)

    def retract(self, accumulator: Value, given: Value) -> Value:
        """Return the accumulator without the arguments of one row."""
        return self._checked_step("retract", accumulator, given)

    def over(self, rows: Sequence[Value]) -> Value:
        """Return the accumulator of rows in this order; NULL if there are none."""
        if not rows:
            return None
        accumulator = self.empty
        for given in rows:
            accumulator = self.accumulate(accumulator, given)
        return accumulator

    def failure(self, accumulator: Value) -> RowFailure | None:
        """Return what an accumulator has failed with."""
        assert isinstance(accumulator, tuple)
        failure = accumulator[1]
        return RememberedFailure(failure) if isinstance(failure, str) else None

    def _checked_step(self, method: str, accumulator: Value, given: Value) -> Value:
        """Return the accumulator after a call of a method; one that has failed stays so.

        Raises:
            FsqlError: E402, if the function is not deterministic.
        """
        assert isinstance(accumulator, tuple)
        if accumulator[1] is not None:
            return accumulator
        made = self._step(method, accumulator, given)
        if self._probes_left:
            self._probes_left -= 1
            again = self._step(method, accumulator, given)
            if repr(made) != repr(again):
                told = f"{method} of {accumulator[0]!r} and {given!r}"
                raise not_deterministic(
                    self.loaded.name, f"{told} was {made[0]!r}, and then {again[0]!r}"
                )
        return made

    def _step(self, method: str, accumulator: tuple[Value, ...], given: Value) -> tuple[Value, ...]:
        state = self.loaded.state
        # A new object for each call: the function may modify its argument.
        before = to_python(accumulator[0], state)
        parameters = self.types.parameters
        listed = given if len(parameters) > 1 or not self.loaded.strict else (given,)
        assert isinstance(listed, tuple)
        pairs = zip(listed, parameters, strict=True)
        try:
            returned = self._call(
                method, before, *(to_python(each, type_) for each, type_ in pairs)
            )
            after = from_python(before if returned is None else returned, state)
        except NotOfTypeError as error:
            return None, failure_text(WrongResultFailure(f"{self.loaded.name}.{method}", error))
        except RowFailure as failure:
            return None, failure_text(failure)
        return after, None

    def _call(self, method: str, *given: object) -> object:
        try:
            return self.loaded.methods[method](*given)
        except NotOfTypeError:
            raise
        except MemoryError:
            raise  # does not depend on the row
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the row fails
            raise RaisedFailure(f"{self.loaded.name}.{method}", error) from None

    def _result(self) -> Function:
        """Return the scalar function that makes the result of an accumulator."""
        loaded = self.loaded

        def value_of(given: dict[str, object]) -> object:
            if isinstance(given["failure"], str):
                raise RememberedFailure(given["failure"])
            return self.loaded.methods["get_value"](given["state"])

        python = PythonFunction(f"{loaded.entry}.get_value", loaded.digest, value_of)
        return register(python, Types((self.state,), self.types.returns), sampled=False)


class RememberedFailure(RowFailure):
    """The failure of an earlier call, which an accumulator has as a text."""

    def __init__(self, text: str) -> None:
        """Read what `failure_text` returned."""
        code, _, message = text.partition(" ")
        super().__init__(message)
        self.code = int(code)  # type: ignore[misc]


def failure_text(failure: RowFailure) -> str:
    """Return the text of a failure, from which `RememberedFailure` makes it again."""
    return f"{failure.code} {failure}"


_REGISTERED: Final[dict[str, PythonAggregate]] = {}


def registered_aggregate(name: str) -> PythonAggregate:
    """Return the aggregate function that has that name in plans."""
    return _REGISTERED[name]


def register_aggregate(loaded: LoadedAggregate, types: Types) -> PythonAggregate:
    """Return the function of plans, which every plan of this process can use from then on.

    Raises:
        LoadError: E411.
        FsqlError: E402, if it is not deterministic with a sample of values, or `retract` does not undo
            `accumulate`.
    """
    name = f"{PREFIX}{loaded.entry}{types} {loaded.state} {loaded.digest}"
    known = _REGISTERED.get(name)
    if known is not None:
        return known
    made = PythonAggregate(name, loaded, types)
    rows: list[Value] = [
        row if len(row) > 1 or not loaded.strict else row[0] for row in sample(types.parameters)
    ]
    made.over(rows)
    if made.retracts:
        _check_retraction(made, rows)
    _REGISTERED[name] = made
    return made


def _check_retraction(made: PythonAggregate, rows: Sequence[Value]) -> None:
    """Check that taking out rows of a sample, in any order, leaves the accumulator of the others.

    Raises:
        FsqlError: E402, if it does not.
    """
    every = made.over(rows)
    for index, row in enumerate(rows):
        expected = made.over([*rows[:index], *rows[index + 1 :]])
        left = made.retract(every, row)
        if expected is None or _has_failed(expected) or _has_failed(left) or _has_failed(every):
            continue
        if repr(left) != repr(expected):
            message = f"function {made.loaded.name} does not retract what it accumulates"
            note = (
                f"without {row!r} of {list(rows)!r} retract leaves {_state(left)!r},"
                f" and the other rows accumulate to {_state(expected)!r}"
            )
            help_ = "let retract undo accumulate for rows in any order, or remove it"
            raise FsqlError([Diagnostic("E402", message, notes=(note,), helps=(help_,))])


def _has_failed(accumulator: Value) -> bool:
    return isinstance(accumulator, tuple) and accumulator[1] is not None


def _state(accumulator: Value) -> Value:
    return accumulator[0] if isinstance(accumulator, tuple) else None
