"""Columns and schemas: the names and types of the rows between two operators."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType

JsonTexts: TypeAlias = "bool | tuple[JsonTexts, ...]"
"""Whether the texts of values are JSON; of a ROW, for each field."""


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed column.

    `time_attribute` marks event time: no row at a root position with time T bears a value that the
    watermark of T can be compared with wrongly, so windows may be built on it.
    """

    name: str
    type: SqlType
    nullable: bool = True
    time_attribute: bool = False
    document: JsonTexts = field(default=False, compare=False)
    """Whether its texts are JSON: it is declared as JSON or JSONB, or has such texts."""

    @property
    def without_time(self) -> Column:
        """Return the column as one that is not event time."""
        return replace(self, time_attribute=False)

    def __str__(self) -> str:
        """Return `name TYPE`, with NOT NULL and the mark of event time if they apply."""
        null = "" if self.nullable else " NOT NULL"
        return f"{self.name} {self.type}{null}{' *time*' if self.time_attribute else ''}"


Schema = tuple[Column, ...]


class InferenceNote(NamedTuple):
    """Why an inferred column has the type that takes any value."""

    column: str
    text: str
