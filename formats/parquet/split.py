"""A Parquet file as a split: its row groups, one after the other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.formats.operations import unknown_operations
from fsql.formats.parquet.columns import convert, faults, fits, without
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.ports import Chunk, DeadLetter, SourceOffset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.compiler.schema import Schema
    from fsql.formats.malformed import MalformedError
    from fsql.formats.settings import Settings

_IDENTITY_BYTES: Final = 1 << 16
_BATCH_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class ParquetSplit:
    """A file; it is read from its beginning, or from a source offset."""

    name: str
    path: Path
    columns: Schema
    changes: bool = False
    """Whether the first column is the kind of change."""
    read: frozenset[str] | None = None
    """The names of the columns that are read, None if all are; the others are NULL."""
    nulled: frozenset[str] = frozenset()
    """The names of the columns whose malformed values are NULL."""

    def open(self, source_offset: SourceOffset | None = None) -> ParquetReader:
        """Return a reader that stands at the first row, or at `source_offset`.

        Raises:
            FsqlError: E531, if the file cannot be opened; E543, if it lacks columns; E536,
                if it is not the file that was read.
        """
        return ParquetReader(
            self.path,
            self.columns,
            source_offset,
            changes=self.changes,
            read=self.read,
            nulled=self.nulled,
        )

    def check(self) -> None:
        """Check that the file has the columns.

        Raises:
            FsqlError: E531, if it cannot be opened; E543, if it lacks columns.
        """
        self.open().close()


def make_split(
    name: str, path: Path, columns: Schema, settings: Settings, read: frozenset[str] | None
) -> ParquetSplit:
    """Return the file as a split of a table with these columns, of which those named by `read` are read."""
    nulled = settings.nulled_columns(columns)
    return ParquetSplit(name, path, columns, settings.reads_changes, read, nulled)


class ParquetReader:
    """Reads the rows of a file in order.  Its source offsets have no line, and an estimated byte."""

    def __init__(
        self,
        path: Path,
        columns: Schema,
        source_offset: SourceOffset | None,
        *,
        changes: bool,
        read: frozenset[str] | None,
        nulled: frozenset[str],
    ) -> None:
        self._path = path
        self._nulled = nulled
        self._read = [
            column
            for at, column in enumerate(columns)
            if read is None or column.name in read or (changes and at == 0)
        ]
        self._changes = changes
        self._columns = columns
        try:
            self._content = _identity(path)
            self._size = path.stat().st_size
            self._file = pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise _open_error(path, _reason(error)) from None
        try:
            self._check_columns()
            self._check_replayable(source_offset)
            self._row = 0 if source_offset is None else source_offset.row
            self._batches = self._from(self._row)
        except BaseException:
            self._file.close()
            raise
        self._batch: pa.RecordBatch | None = None
        self._bytes = self._bytes_before(self._row)
        self._bytes_in_all = self._bytes_before(self._file.metadata.num_rows)

    def read(self, rows_max: int) -> Chunk | None:
        """Return up to `rows_max` further rows, or None at the end.

        Raises:
            FsqlError: E535, if the file cannot be read, or is damaged.
        """
        if self._batch is None or not self._batch.num_rows:
            try:
                self._batch = next(self._batches, None)
            except (OSError, pa.ArrowException) as error:
                message = f'reading "{self._path}" failed: {_reason(error)}'
                raise FsqlError([Diagnostic("E535", message)]) from None
            if self._batch is None:
                return None
        part, self._batch = self._batch.slice(0, rows_max), self._batch.slice(rows_max)
        return self._chunk(part)

    def bytes_passed(self) -> int:
        """Return an estimate of the bytes that have been read, by the share of the row groups."""
        return self._size * self._bytes // max(self._bytes_in_all, 1)

    def source_offset(self) -> SourceOffset:
        """Return where the reader stands."""
        return SourceOffset(self._row, 0, self._bytes, self._content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _chunk(self, part: pa.RecordBatch) -> Chunk:
        dead_letters: dict[int, DeadLetter] = {}
        nulled: list[int] = []
        columns = []
        for column in self._columns:
            if column not in self._read:
                columns.append(pa.nulls(part.num_rows, arrow_type(column.type)))
                continue
            given = part.column(column.name)
            converted = convert(given, column.type)
            malformed = dict(faults(column, given, converted))
            if column.name in self._nulled and malformed:
                converted = without(converted, malformed)
                nulled += malformed
                malformed = {}
            for row, error in malformed.items():
                dead_letters.setdefault(row, self._dead_letter(row, error))
            columns.append(converted)
        if self._changes:
            for row, error in unknown_operations(columns[0], self._columns[0].name):
                dead_letters.setdefault(row, self._dead_letter(row, error))
        kept = np.arange(part.num_rows)
        if dead_letters:
            kept = np.delete(kept, list(dead_letters))
            columns = [column.take(pa.array(kept)) for column in columns]
        rows = self._row + kept
        self._row += part.num_rows
        before, self._bytes = self._bytes, self._bytes_before(self._row)
        in_order = [dead_letters[row] for row in sorted(dead_letters)]
        count = sum(row not in dead_letters for row in nulled)
        return Chunk(columns, rows, in_order, self._bytes - before, nulled_fields=count)

    def _dead_letter(self, row: int, error: MalformedError) -> DeadLetter:
        return DeadLetter(self._row + row, 0, -1, error.code, error.field, error.reason, "")

    def _from(self, row: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from number `row` on."""
        names = [column.name for column in self._read]
        first = 0
        for group in range(self._file.metadata.num_row_groups):
            count = self._file.metadata.row_group(group).num_rows
            skipped = min(max(row - first, 0), count)
            first += count
            if skipped == count:
                continue
            for batch in self._file.iter_batches(_BATCH_ROWS, [group], names, use_threads=False):
                yield batch.slice(skipped)
                skipped = max(skipped - batch.num_rows, 0)

    def _bytes_before(self, row: int) -> int:
        """Return the size of the row groups before a row, including a share of its own group."""
        size = 0
        for group in range(self._file.metadata.num_row_groups):
            found = self._file.metadata.row_group(group)
            if row < found.num_rows:
                return size + found.total_byte_size * row // found.num_rows
            size += found.total_byte_size
            row -= found.num_rows
        return size

    def _check_columns(self) -> None:
        schema = self._file.schema_arrow
        for column in self._columns:
            found = schema.get_all_field_indices(column.name)
            if not found:
                near = near_name(column.name, schema.names)
                help_ = (
                    f"it has {', '.join(schema.names)}"
                    if near is None
                    else (f"a column with a similar name exists: '{near}'")
                )
                raise _columns_error(self._path, f'it has no column "{column.name}"', help_)
            if len(found) > 1:
                raise _columns_error(self._path, f'it has column "{column.name}" twice')
            type_ = schema.field(found[0]).type
            if not fits(type_, column.type):
                reason = (
                    f'its column "{column.name}" is {type_}, which is not read as {column.type}'
                )
                raise _columns_error(
                    self._path, reason, "declare the column with a type that holds its values"
                )

    def _check_replayable(self, source_offset: SourceOffset | None) -> None:
        if source_offset is None or source_offset.content in {"", self._content}:
            return
        message = f'source "{self._path}" cannot be replayed from row {source_offset.row:,}: it has changed'
        note = f"the job has read {source_offset.row:,} rows of it and continues after them"
        raise FsqlError([Diagnostic("E536", message, notes=(note,))])


def _identity(path: Path) -> str:
    """Return a hash of the length of a file and of its last bytes, which contain its metadata."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _IDENTITY_BYTES, 0))
        hasher = xxhash.xxh3_128(str(size).encode())
        hasher.update(file.read())
    return hasher.hexdigest()


def _open_error(path: Path, reason: str, *helps: str) -> FsqlError:
    message = f'path "{path}" cannot be read: {reason}'
    return FsqlError([Diagnostic("E531", message, helps=helps)])


def _columns_error(path: Path, reason: str, *helps: str) -> FsqlError:
    message = f'path "{path}" cannot be read: {reason}'
    return FsqlError([Diagnostic("E543", message, helps=helps)])


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = text.partition(". ")[0]
    return first[:1].lower() + first[1:].rstrip(".")
