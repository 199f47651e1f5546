"""`@fsql.program`: declares a class as a program.

    @fsql.program(state="BIGINT", columns=["total BIGINT"], tag="STRING")
    class Sums:
        def init(self): ...
        def update(self, state, tag, row): ...       # returns (state, rows)
        def depends(self, tag, other): ...
        def fork(self, state, left, right): ...      # left, right: predicates on tags; returns two states
        def join(self, left, right): ...

With several state types, `update`, `update_batch`, `fork` and `join` have a first parameter more: the name
of the state type, or the names of those of the whole, the left and the right, and `accepts(kind, tag)` says
which events a state of a type can process.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fsql.programs.program import Fork, Program, StateType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    _ClassT = TypeVar("_ClassT", bound="type[Any]")

_ATTRIBUTE: Final = "__fsql_program__"
_ONLY: Final = "state"
_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "init": (),
    "update": ("state", "tag", "row"),
    "update_batch": ("state", "tag", "rows"),
    "depends": ("tag", "other"),
    "fork": ("state", "left", "right"),
    "join": ("left", "right"),
    "accepts": ("kind", "tag"),
}
"""The methods, and their parameters with one state type."""
_OF_KINDS: Final = {"update": "kind", "update_batch": "kind", "fork": "kinds", "join": "kinds"}
"""The first parameter that methods have with several state types."""
_COLUMN: Final = re.compile(r"\s*(\w+|`[^`]+`)\s+\S.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the decorator of a class declares; types are SQL text."""

    states: tuple[tuple[str, str], ...]
    forks: tuple[Fork, ...]
    tag: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


def program(
    *,
    state: str | Mapping[str, str],
    columns: Sequence[str],
    tag: str,
    key: Sequence[str] = (),
    forks: Sequence[tuple[str, str, str]] = (),
) -> Callable[[_ClassT], _ClassT]:
    """Declare a class as a program, which scripts run with `CREATE PROGRAM` and `RUN`.

    Args:
        state: the SQL type of states; or several, by their names, of which the first accepts every tag.
        columns: the name and the type of each column of the rows that events cause: `["k BIGINT"]`.
        tag: the SQL type of tags: `"ROW<kind STRING, k BIGINT>"`.
        key: fields of the tag; events that differ there do not depend on each other.
        forks: the state types that a state of a type is forked into: `[("whole", "part", "part")]`. With one
            state type it may be left out.

    Raises:
        TypeError: if a part is missing, or does not fit the others.
    """
    states = _states(state)
    names = [name for name, _ in states]
    if isinstance(columns, str) or not columns:
        raise TypeError('columns is a list with a name and a type each: ["k BIGINT"]')
    for column in columns:
        if not _COLUMN.fullmatch(str(column)):
            raise TypeError(f'column {column!r} is not a name and a type: "k BIGINT"')
    if not str(tag).strip():
        raise TypeError('tag is an SQL type: "ROW<kind STRING, k BIGINT>"')
    if isinstance(key, str):
        raise TypeError(f'key is a list of fields of the tag: ["{key}"]')
    if key and not re.match(r"\s*ROW\s*[<(]", tag, re.IGNORECASE):
        raise TypeError(f"key has fields, and the tag {tag} is not a ROW")
    if len(set(key)) < len(key):
        raise TypeError(f"key has a field twice: {', '.join(key)}")
    declared = Declaration(states, _forks(forks, names), tag, tuple(key), tuple(columns))

    def declare(declared_class: _ClassT) -> _ClassT:
        if not isinstance(declared_class, type):
            raise TypeError("a program is a class; write @fsql.program(…) above it")
        _check_methods(declared_class, declared)
        setattr(declared_class, _ATTRIBUTE, declared)
        return declared_class

    return declare


def _states(given: str | Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the state types with their names.

    Raises:
        TypeError: if there is none, or one is not text.
    """
    pairs = ((_ONLY, given),) if isinstance(given, str) else tuple(dict(given).items())
    for name, type_ in pairs:
        if not (str(name).strip() and str(type_).strip()):
            raise TypeError('state is an SQL type, or several by name: {"whole": "BIGINT"}')
    if not pairs:
        raise TypeError('state has no type: state="BIGINT"')
    return pairs


def _forks(given: Sequence[tuple[str, str, str]], names: Sequence[str]) -> tuple[Fork, ...]:
    """Return the forks by the indexes of their state types.

    Raises:
        TypeError: if one names a state type that there is not, or is listed twice.
    """
    if not given:
        return (Fork(0, 0, 0),) if len(names) == 1 else ()
    forks = []
    for triple in given:
        if len(triple) != len(("whole", "left", "right")):
            raise TypeError(f'fork {triple!r} is not ("whole", "left", "right")')
        for name in triple:
            if name not in names:
                raise TypeError(
                    f'fork {triple!r}: "{name}" is not a state type: {", ".join(names)}'
                )
        forks.append(Fork(*map(list(names).index, triple)))
    if len(set(forks)) < len(forks):
        raise TypeError("a fork is listed twice")
    return tuple(forks)


def _check_methods(declared_class: type[Any], declared: Declaration) -> None:
    """Check the methods of a class.

    Raises:
        TypeError: if one is missing, or takes other parameters.
    """
    several = len(declared.states) > 1
    needed = ["init", "update", "depends"]
    needed += ["fork", "join"] if several or _has(declared_class, "fork", "join") else []
    needed += ["accepts"] if several else []
    if several and not declared.forks:
        raise TypeError('several state types need forks: forks=[("whole", "part", "part")]')
    for name, parameters in _FORMS.items():
        form = (*((_OF_KINDS[name],) if several and name in _OF_KINDS else ()), *parameters)
        method = getattr(declared_class, name, None)
        written = f"def {name}({', '.join(('self', *form))})"
        if method is None and name not in needed:
            continue
        if not callable(method):
            raise TypeError(f"program {declared_class.__name__} has no method {name}: {written}")
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            raise TypeError(f"{declared_class.__name__}.{name} is asynchronous: {written}")
        try:
            inspect.signature(method).bind(*[None] * (len(form) + 1))
        except TypeError:
            raise TypeError(
                f"{declared_class.__name__}.{name} takes other parameters: {written}"
            ) from None


def _has(declared_class: type[Any], *names: str) -> bool:
    return any(getattr(declared_class, name, None) is not None for name in names)


def is_program(declared_class: object) -> bool:
    """Return whether an object is a class that `@fsql.program` declares."""
    return isinstance(getattr(declared_class, _ATTRIBUTE, None), Declaration)


def program_of(declared_class: type[Any]) -> Program:
    """Return the program of a class that `@fsql.program` declares; an instance of it is created.

    Raises:
        TypeError: if it is not declared, or it cannot be created.
    """
    declared = getattr(declared_class, _ATTRIBUTE, None)
    if not isinstance(declared, Declaration):
        name = getattr(declared_class, "__name__", repr(declared_class))
        raise TypeError(f"{name} is not a program; write @fsql.program(…) above its class")
    try:
        own = declared_class()
    except Exception as error:
        raise TypeError(f"{declared_class.__name__} cannot be created: {error}") from error
    forks = declared.forks if _has(declared_class, "fork") else ()
    functions = _of_one(own) if len(declared.states) == 1 else _of_several(own, declared)
    states = tuple(
        StateType(name, type_, _accepts(own, name, index))
        for index, (name, type_) in enumerate(declared.states)
    )
    return Program(
        declared_class.__name__,
        states,
        forks,
        declared.tag,
        declared.key,
        declared.columns,
        own.init,
        depends=own.depends,
        **functions,
    )


def _accepts(
    own: Any,  # noqa: ANN401 - an instance of the user's class
    name: str,
    index: int,
) -> Callable[[object], bool]:
    # The whole accepts every tag by definition: it is the state of a run on one worker.
    return (lambda tag: bool(own.accepts(name, tag))) if index else (lambda _: True)


def _of_one(own: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return the functions of an instance that has one state type."""
    batch = getattr(own, "update_batch", None)
    return {
        "update": lambda _, state, tag, row: own.update(state, tag, row),
        "fork": lambda _, state, left, right: own.fork(state, left, right),
        "join": lambda _, left, right: own.join(left, right),
        "update_batch": batch and (lambda _, state, tag, rows: batch(state, tag, rows)),
    }


def _of_several(own: Any, declared: Declaration) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return the functions of an instance with several state types, which are told their names."""
    names = [name for name, _ in declared.states]

    def kinds(fork: Fork) -> tuple[str, str, str]:
        return names[fork.whole], names[fork.left], names[fork.right]

    batch = getattr(own, "update_batch", None)
    return {
        "update": lambda kind, state, tag, row: own.update(names[kind], state, tag, row),
        "fork": lambda fork, state, left, right: own.fork(kinds(fork), state, left, right),
        "join": lambda fork, left, right: own.join(kinds(fork), left, right),
        "update_batch": batch
        and (lambda kind, state, tag, rows: batch(names[kind], state, tag, rows)),
    }
