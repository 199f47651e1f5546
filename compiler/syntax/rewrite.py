"""Changes records of the syntax, wherever they are in another record."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from fsql.compiler.syntax.names import Syntax, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Record = TypeVar("_Record", bound=Syntax)


def records(record: Syntax) -> Iterator[Syntax]:
    """Yield a record and all records in it."""
    stack: list[object] = [record]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack += value
        elif isinstance(value, Syntax):
            yield value
            stack += parts(value)


def rewrite(record: _Record, change: Callable[[Syntax], Syntax]) -> _Record:
    """Return a record in which `change` was applied to all records, to those inside before those around.

    `change` returns a record of the same class.
    """

    def applied(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(applied, value))
        if not isinstance(value, Syntax):
            return value
        given = {each.name: getattr(value, each.name) for each in fields(value)}
        made = {name: applied(part) for name, part in given.items() if name != "span"}
        if any(made[name] is not given[name] for name in made):
            value = replace(value, span=value.span, **made)
        return change(value)

    found = applied(record)
    assert isinstance(found, type(record))
    return found
