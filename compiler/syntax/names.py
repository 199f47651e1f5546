"""Names and types, and the base class of all records."""

from __future__ import annotations

from dataclasses import field, fields
from functools import cache
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.text.source import Span


_GENERATED: Final = "\u0387"
"""GREEK ANO TELEIA: looks like a middle dot, and is none in normal form C, in which names of a script are."""


def generated_name(text: str) -> str:
    """Return a name for what the script does not name; no name that a script can have is equal to it."""
    return text + _GENERATED


@dataclass(frozen=True, slots=True)
class Syntax:
    """The base class of all records; the span is ignored for equality."""

    span: Span = field(compare=False)


def parts(record: Syntax) -> list[object]:
    """Return the values of the fields of a record in their order, except its span."""
    kind: type = type(record)
    return [getattr(record, name) for name in _part_names(kind)]


@cache
def _part_names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name != "span")


@dataclass(frozen=True, slots=True)
class Identifier(Syntax):
    """One name.  Quoted names match exactly, others without regard to case; `name` is unescaped."""

    name: str
    quoted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class QualifiedName(Syntax):
    """A name with its qualifiers, `catalog.name`: of a table, view or function.

    `in_database` is whether its database was written, which a table of WITH does not have.
    """

    parts: tuple[Identifier, ...]
    in_database: bool = False

    @classmethod
    def of(cls, span: Span, name: str) -> QualifiedName:
        """Return a name without qualifiers."""
        return cls(span, (Identifier(span, name),))

    @classmethod
    def of_file(cls, span: Span, path: str) -> QualifiedName:
        """Return the name of the table for a file in FROM: its path."""
        return cls(span, (Identifier(span, path, quoted=True),))


@dataclass(frozen=True, slots=True)
class TypeName(Syntax):
    """A type as written, in upper case: `DECIMAL(23, 3)`, `ARRAY<INT>`, `ROW<a INT, b STRING>`.

    `numbers` are those in round brackets, `arguments` the types in angle brackets; for ROW, `fields` names
    them.  Additional words belong to the name: `TIMESTAMP WITH LOCAL TIME ZONE`.
    """

    name: str
    numbers: tuple[int, ...] = ()
    arguments: tuple[TypeName, ...] = ()
    fields: tuple[Identifier, ...] = ()
    not_null: bool = False


def matches(identifier: Identifier, name: str | None) -> bool:
    """Return whether the identifier refers to the object declared as `name`."""
    if name is None:
        return False
    if identifier.quoted:
        return identifier.name == name
    return identifier.name.lower() == name.lower()


def names_text(names: Sequence[str], *, limit: int = 8) -> str:
    """Return the names as a list for a message, cut if it is long."""
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"
