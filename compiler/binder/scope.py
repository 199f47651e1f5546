"""Scopes: the columns that names can refer to at one point of a query.

A scope has layers, searched from the first; a name in an inner layer hides the same name in an outer one.
(Only LATERAL subqueries have a second layer: the outer row.)  Names without quotes match without regard to
case, quoted ones exactly.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.expression import ColumnRef, FieldAccess
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import matches as matches  # noqa: PLC0414 - exported
from fsql.compiler.syntax.names import names_text as names_text  # noqa: PLC0414 - exported

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression
    from fsql.compiler.schema import Column, Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.syntax import Identifier


@dataclass(frozen=True, slots=True)
class Field:
    """A column that a name can refer to: column `index` of the scope's plan.

    With `member`, the name refers to a field of that column: the column's type, and the field's index in it.
    A column that USING has `merged` with another is only found with its qualifier.  A `hidden` column has no
    name at all: it is event time that a query does not select, for windows and ROWTIME.  `join_name` is the
    name that a column of a join also has, such as `A_ID`; a column of that name precedes it.
    """

    qualifier: str | None
    name: str
    index: int
    column: Column
    member: tuple[SqlType, int] | None = None
    merged: bool = False
    join_name: str | None = None
    hidden: bool = False

    @property
    def expression(self) -> Expression:
        """Return the expression for the value to which the name refers."""
        if self.member is None:
            return ColumnRef(self.column.type, self.column.nullable, self.index)
        type_, index = self.member
        row = ColumnRef(type_, nullable=True, index=self.index)
        return FieldAccess(self.column.type, nullable=True, argument=row, index=index)

    def shift(self, by: int) -> Field:
        """Return the field with its index increased by `by`."""
        return replace(self, index=self.index + by)


Layer = tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class RowTime:
    """The column with the time of each row, which has no name; and the watermark that follows from it.

    `event_times` are the columns with the event time of the table, none if its rows are in another order.
    The watermark at a row is `floor((time - delay_us) / grain_us) * grain_us`.  It is only known of the rows
    `of_table`, not of changes, nor while the columns of a table are declared.
    """

    index: int
    event_times: tuple[int, ...] = ()
    delay_us: int = 0
    grain_us: int = 1_000
    of_table: bool = True


@dataclass(frozen=True)
class Scope:
    """The visible fields, in layers from the innermost.

    `row_time` is the column with the time of each row, where rows have one.
    """

    layers: tuple[Layer, ...]
    row_time: RowTime | None = None

    @cached_property
    def _fields_by_name(self) -> tuple[dict[str, list[Field]], ...]:
        """Return the fields of each layer by their names in lower case."""
        tables: list[dict[str, list[Field]]] = []
        for layer in self.layers:
            by_name: dict[str, list[Field]] = {}
            for field in layer:
                if field.hidden:
                    continue
                by_name.setdefault(field.name.lower(), []).append(field)
            tables.append(by_name)
        return tuple(tables)

    @property
    def fields(self) -> Layer:
        """Return the fields of the innermost layer, to which `*` expands."""
        return self.layers[0]

    def find(self, name: Identifier, qualifier: Identifier | None = None) -> Layer:
        """Return the fields of that name in the innermost layer that has it.

        No field: the name does not exist.  Several: it is ambiguous.  If fields differ in case only, an exact
        match is preferred.
        """
        for by_name in self._fields_by_name:
            found = [
                field
                for field in by_name.get(name.name.lower(), ())
                if matches(name, field.name)
                and (not field.merged if qualifier is None else matches(qualifier, field.qualifier))
            ]
            if found:
                exact = [field for field in found if field.name == name.name]
                return tuple(exact or found)
        return self._find_of_join(name, qualifier)

    def _find_of_join(self, name: Identifier, qualifier: Identifier | None) -> Layer:
        """Return the fields that have that name by a join; no column has the name."""
        for layer in self.layers:
            found = tuple(
                field
                for field in layer
                if matches(name, field.join_name)
                and (qualifier is None or matches(qualifier, field.qualifier))
            )
            if found:
                return found
        return ()

    def qualifiers(self) -> tuple[str, ...]:
        """Return the names of the visible relations, each once."""
        names = (field.qualifier for layer in self.layers for field in layer)
        return tuple(dict.fromkeys(name for name in names if name is not None))


def fields_of(schema: Schema, qualifier: str | None) -> Layer:
    """Return a field for each column of `schema`."""
    return tuple(Field(qualifier, column.name, i, column) for i, column in enumerate(schema))


def quantity_text(count: int, noun: str) -> str:
    """Return `1 column`, `2 columns`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
