"""Shared by the readers of files with their own structure: converts columns of a file to those of a table.

A reader returns the content of a file as Arrow columns; here their types are checked, and values converted.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import pyarrow as pa
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import Kind
from fsql.formats.arrow_columns import convert, faults, fits, with_dictionary, without
from fsql.formats.operations import malformed_changes
from fsql.runtime.arrow_schema import sql_type_of
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.ports import Chunk, DeadLetter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fsql.compiler.schema import Schema
    from fsql.formats.malformed import MalformedError
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import SourceOffset, SplitReader

_IDENTITY_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class WholeFileSplit(ABC):
    """A file, which is read from its beginning, or from a source offset."""

    name: str
    path: Path
    columns: Schema
    changes: bool = False
    """Whether the first column is the kind of change."""
    read: frozenset[str] | None = None
    """The names of the columns that are read, None if all are; the others are NULL."""
    nulled: frozenset[str] = frozenset()
    """The names of the columns whose malformed values are NULL."""
    required: tuple[int, ...] = ()
    """The columns that only rows that are removed may lack."""
    elsewhere: frozenset[str] = frozenset()
    """The names of the columns that other files of the table have; one that this one lacks is NULL."""

    @classmethod
    def of_table(
        cls,
        name: str,
        path: Path,
        columns: Schema,
        settings: Settings,
        read: frozenset[str] | None,
    ) -> Self:
        """Return the split of a table with these columns, of which those named by `read` are read."""
        nulled = settings.nulled_columns(columns)
        required = settings.required_unless_deleted
        return cls(name, path, columns, settings.reads_changes, read, nulled, required)

    def open(self, source_offset: SourceOffset | None = None) -> SplitReader:
        """Return a reader at the first row, or at `source_offset`.

        Raises:
            FsqlError: E531, if the file cannot be opened; E543, if it lacks columns; E536,
                if it is not the file that was read before; E535, if it is damaged before the offset.
        """
        columns = ReadColumns(
            self.path,
            self.columns,
            changes=self.changes,
            read=self.read,
            nulled=self.nulled,
            required=self.required,
            elsewhere=self.elsewhere,
        )
        return self._reader(columns, source_offset)

    def check(self) -> None:
        """Check that the file has the columns.

        Raises:
            FsqlError: E531, if it cannot be opened; E543, if it lacks columns.
        """
        self.open().close()

    @abstractmethod
    def column_types(self) -> dict[str, str]:
        """Return the columns of the file with the names of their types.

        Raises:
            FsqlError: E531, if it cannot be opened.
        """

    def with_elsewhere(self, names: frozenset[str]) -> Self:
        """Return the split of one of several files, which have the columns with these names."""
        return replace(self, elsewhere=names)

    @abstractmethod
    def _reader(self, columns: ReadColumns, source_offset: SourceOffset | None) -> SplitReader:
        """Return the reader of the format; see `open`."""


class ReadColumns:
    """The columns of a table, some of which are read from a file."""

    def __init__(
        self,
        path: Path,
        columns: Schema,
        *,
        changes: bool = False,
        read: frozenset[str] | None = None,
        nulled: frozenset[str] = frozenset(),
        required: Sequence[int] = (),
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        """Read the columns named by `read`, by default all; the others are NULL.

        With `changes` the first column is the kind of change, and only rows that are removed may lack the
        columns `required`.  Malformed values of columns named by `nulled` are NULL, and so are columns named
        by `elsewhere` that the file does not have.
        """
        self._elsewhere = elsewhere
        self._absent: frozenset[str] = frozenset()
        self._path = path
        self._columns = columns
        self._changes = changes
        self._nulled = nulled
        self._read = [
            column
            for at, column in enumerate(columns)
            if read is None or column.name in read or (changes and at == 0)
        ]
        self._required = [index for index in required if columns[index] in self._read]

    @property
    def names(self) -> list[str]:
        """Return the names of the columns that are read, and that the file has."""
        return [column.name for column in self._read if column.name not in self._absent]

    @property
    def declared_names(self) -> list[str]:
        """Return the names of all columns of the table."""
        return [column.name for column in self._columns]

    @property
    def texts(self) -> list[str]:
        """Return the names of the columns of texts that are read, and that the file has."""
        texts = {column.name for column in self._read if column.type.kind is Kind.STRING}
        return [name for name in self.names if name in texts]

    def check(self, schema: Mapping[str, pa.DataType], *, narrow: bool = False) -> None:
        """Check that a file with the columns of `schema` has those of the table; `narrow` is of `fits`.

        Raises:
            FsqlError: E543, if it does not.
        """
        names = {column.name for column in self._columns}
        self._absent = frozenset(names & self._elsewhere).difference(schema)
        if names and self._absent == names:
            help_ = "name other files, or declare columns of this one, too"
            raise columns_error(self._path, "it has none of the columns of the table", help_)
        for column in self._columns:
            if column.name in self._absent:
                continue
            if column.name not in schema:
                near = near_name(column.name, list(schema))
                help_ = (
                    f"it has {', '.join(schema)}"
                    if near is None
                    else f"a column with a similar name exists: '{near}'"
                )
                raise columns_error(self._path, f'it has no column "{column.name}"', help_)
            type_ = schema[column.name]
            if column in self._read and not fits(type_, column.type, narrow=narrow):
                reason = (
                    f'its column "{column.name}" is {type_}, which is not read as {column.type}'
                )
                holds = sql_type_of(type_)
                readable = holds is not None and fits(type_, holds, narrow=narrow)
                help_ = (
                    f'declare "{column.name}" as {holds}'
                    if readable
                    else "leave the column out of the query: no type has its values"
                )
                raise columns_error(self._path, reason, help_)

    def chunk(self, part: pa.RecordBatch, first: int, bytes_read: int) -> Chunk:
        """Return consecutive rows of the file, the first of which has the number `first`."""
        dead_letters: dict[int, DeadLetter] = {}
        nulled: list[int] = []
        columns = []
        for column in self._columns:
            if column not in self._read:
                columns.append(pa.nulls(part.num_rows, arrow_type(column.type)))
                continue
            absent = column.name in self._absent
            given = pa.nulls(part.num_rows) if absent else part.column(column.name)
            converted = with_dictionary(given, column.type)
            if converted is None:
                converted = convert(given, column.type)
            malformed = dict(faults(column, given, converted))
            if column.name in self._nulled and malformed:
                converted = without(converted, malformed)
                nulled += malformed
                malformed = {}
            for row, error in malformed.items():
                dead_letters.setdefault(row, _dead_letter(first + row, error))
            columns.append(converted)
        if self._changes:
            for row, error in malformed_changes(columns, self._columns, self._required):
                dead_letters.setdefault(row, _dead_letter(first + row, error))
        kept = np.arange(part.num_rows)
        if dead_letters:
            kept = np.delete(kept, list(dead_letters))
            columns = [column.take(pa.array(kept)) for column in columns]
        in_order = [dead_letters[row] for row in sorted(dead_letters)]
        count = sum(row not in dead_letters for row in nulled)
        return Chunk(columns, first + kept, in_order, bytes_read, nulled_fields=count)


def _dead_letter(row: int, error: MalformedError) -> DeadLetter:
    return DeadLetter(row, 0, -1, error.code, error.field, error.reason, "")


def identity(path: Path) -> str:
    """Return a hash of the length of a file and of its last bytes.

    Raises:
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _IDENTITY_BYTES, 0))
        hasher = xxhash.xxh3_128(str(size).encode())
        hasher.update(file.read())
    return hasher.hexdigest()


def check_replayable(path: Path, content: str, source_offset: SourceOffset | None) -> None:
    """Check that a file with the identity `content` is the one that was read before.

    Raises:
        FsqlError: E536, if it is not.
    """
    if source_offset is None or source_offset.content in {"", content}:
        return
    message = f'source "{path}" cannot be replayed from row {source_offset.row:,}: it has changed'
    note = f"the job has read {source_offset.row:,} rows of it and continues after them"
    raise FsqlError([Diagnostic("E536", message, notes=(note,))])


def open_error(path: Path, reason: str, *helps: str) -> FsqlError:
    """Return the error for a file that cannot be opened."""
    message = f'path "{path}" cannot be read: {reason}'
    return FsqlError([Diagnostic("E531", message, helps=helps)])


def columns_error(path: Path, reason: str, *helps: str) -> FsqlError:
    """Return the error for a file that lacks columns of a table."""
    message = f'path "{path}" cannot be read: {reason}'
    return FsqlError([Diagnostic("E543", message, helps=helps)])


def reason_of(error: Exception) -> str:
    """Return the first sentence of an error of Arrow or of the operating system, as one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = text.partition(". ")[0]
    return first[:1].lower() + first[1:].rstrip(".")
