"""Tables of a session, which the program declares, and fills while queries run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import STRING, SqlType
from fsql.connectors.memory.options import GROWING
from fsql.job.memory import columns_of, declaration, quote, watermark_of
from fsql.job.python_types import SQL_TYPES, sql_text
from fsql.runtime.arrow_schema import sql_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

ColumnType: TypeAlias = "str | type"
"""A type as SQL writes it, or a type of Python."""
_OPERATION: Final = "op"
_GROWING: Final = f", '{GROWING}' = 'yes'"
_UPSERT: Final = ", 'changes' = 'upsert'"


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """A table as a program declares it; `columns` are names and SQL types."""

    name: str
    columns: Sequence[tuple[str, str]]
    event_time: str | None = None
    delay: timedelta | str = timedelta(0)
    key: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """Return the CREATE TABLE statement."""
        parts = [*columns_of(self.columns), *watermark_of(self.name, self.event_time, self.delay)]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quote, self.key))}) NOT ENFORCED")
        return declaration(self.name, parts, _GROWING + (_UPSERT if self.key else ""))


@dataclass(slots=True)
class SessionTable:
    """A declared table, and whether the program has filled it or ended its input."""

    declared: TableDeclaration
    types: tuple[SqlType, ...]
    has_rows: bool = False
    """Whether rows were inserted, or the event time was advanced, which queries opened later would miss."""
    drained: bool = False
    operation: str = field(default=_OPERATION, init=False)

    @property
    def name(self) -> str:
        """Return the name."""
        return self.declared.name

    @property
    def event_time(self) -> str | None:
        """Return the event-time column."""
        return self.declared.event_time

    @property
    def key(self) -> tuple[str, ...]:
        """Return the columns of the key; with one, the rows are changes."""
        return self.declared.key

    @property
    def columns(self) -> tuple[tuple[str, SqlType], ...]:
        """Return names and types of the columns."""
        names = (name for name, _ in self.declared.columns)
        return tuple(zip(names, self.types, strict=True))

    @property
    def physical_columns(self) -> tuple[tuple[str, SqlType], ...]:
        """Return the columns of rows: first the kind of change, if the table has a key, then its own."""
        return ((self.operation, STRING), *self.columns) if self.key else self.columns

    @property
    def required(self) -> list[str]:
        """Return the columns in which NULL is not allowed."""
        return [name for name, _ in self.columns if name == self.event_time or name in self.key]


def columns_as_declared(
    table: str, columns: Mapping[str, ColumnType] | pa.Schema
) -> tuple[tuple[str, str], ...]:
    """Return names and SQL types of columns.

    Raises:
        FsqlError: E542, if there are none, or a type of Arrow or Python has no SQL type.
    """
    if not isinstance(columns, Mapping | pa.Schema):
        raise TypeError('columns are {"name": "TYPE", …}, or an Arrow schema')
    if not len(columns):
        helps = ('give the type of each column: {"word": "STRING"}',)
        raise FsqlError([Diagnostic("E542", f'table "{table}" has no columns', helps=helps)])
    if isinstance(columns, Mapping):
        return tuple((name, _sql_text(table, name, of)) for name, of in columns.items())
    found = []
    for each in columns:
        sql_type = sql_type_of(each.type)
        if sql_type is None:
            message = f'column "{each.name}" of table "{table}" has no SQL type: it is {each.type}'
            raise FsqlError([Diagnostic("E542", message, helps=("declare it with another type",))])
        found.append((each.name, str(sql_type)))
    return tuple(found)


def _sql_text(table: str, column: str, of: object) -> str:
    """Return a type as SQL writes it.

    Raises:
        FsqlError: E542.
    """
    found = of if isinstance(of, str) else sql_text(of)
    if found is not None:
        return found
    text = f"{of.__module__}.{of.__qualname__}" if isinstance(of, type) else str(of)
    message = f'column "{column}" of table "{table}" has no SQL type: it is {text}'
    names = [each.__name__ for each in SQL_TYPES]
    help_ = (
        'write it as SQL, with its digits: "DECIMAL(10, 2)"'
        if of is Decimal
        else f'write it as SQL, for example "STRING", or as {", ".join(names[:-1])} or {names[-1]}'
    )
    raise FsqlError([Diagnostic("E542", message, helps=(help_,))])
