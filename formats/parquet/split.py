"""A Parquet file as a split, which is read row group by row group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.formats.arrow_columns import is_short
from fsql.formats.whole_files import (
    ReadColumns,
    WholeFileSplit,
    check_replayable,
    columns_error,
    identity,
    open_error,
    reason_of,
)
from fsql.runtime.dictionaries import ROWS_TO_SAMPLE, repeat_often
from fsql.runtime.ports import SourceOffset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.runtime.ports import Chunk

_BATCH_ROWS: Final = 65_536


class ParquetSplit(WholeFileSplit):
    """A Parquet file."""

    __slots__ = ()

    def column_types(self) -> dict[str, str]:
        """See `WholeFileSplit`."""
        try:
            return {field.name: str(field.type) for field in pq.read_schema(self.path)}
        except (OSError, pa.ArrowException) as error:
            raise open_error(self.path, reason_of(error)) from None

    def _reader(self, columns: ReadColumns, source_offset: SourceOffset | None) -> ParquetReader:
        return ParquetReader(self.path, columns, source_offset)


make_split: Final = ParquetSplit.of_table


class ParquetReader:
    """Reads the rows of a file in order.  Its source offsets have no line, and an estimated byte."""

    def __init__(
        self, path: Path, columns: ReadColumns, source_offset: SourceOffset | None
    ) -> None:
        self._path = path
        self._columns = columns
        try:
            self._content = identity(path)
            self._size = path.stat().st_size
            self._file = pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise open_error(path, reason_of(error)) from None
        try:
            self._check_columns()
            check_replayable(path, self._content, source_offset)
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
                message = f'reading "{self._path}" failed: {reason_of(error)}'
                raise FsqlError([Diagnostic("E535", message)]) from None
            if self._batch is None:
                return None
        part, self._batch = self._batch.slice(0, rows_max), self._batch.slice(rows_max)
        first, self._row = self._row, self._row + part.num_rows
        before, self._bytes = self._bytes, self._bytes_before(self._row)
        return self._columns.chunk(part, first, self._bytes - before)

    def bytes_passed(self) -> int:
        """Return an estimate of the bytes that have been read, interpolated within row groups."""
        return self._size * self._bytes // max(self._bytes_in_all, 1)

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader."""
        return SourceOffset(self._row, 0, self._bytes, self._content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _from(self, row: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from number `row` on.

        Texts that repeat are read with their dictionaries, until a row group has a long one.
        """
        names, encoded = self._columns.names, None
        first = 0
        for group in range(self._file.metadata.num_row_groups):
            count = self._file.metadata.row_group(group).num_rows
            skipped = min(max(row - first, 0), count)
            first += count
            if skipped == count:
                continue
            if encoded is None:
                encoded = self._repeating_texts(group)
                if encoded:
                    self._reopen(encoded)
            long = None
            for batch in self._file.iter_batches(_BATCH_ROWS, [group], names, use_threads=False):
                if long is None:
                    long = {name for name in encoded if not is_short(batch.column(name))}
                yield batch.slice(skipped)
                skipped = max(skipped - batch.num_rows, 0)
            if long:
                encoded = [name for name in encoded if name not in long]
                self._reopen(encoded)

    def _repeating_texts(self, group: int) -> list[str]:
        """Return the columns whose texts seem to repeat, by the first rows of a row group."""
        texts = self._columns.texts
        batches = self._file.iter_batches(ROWS_TO_SAMPLE, [group], texts, use_threads=False)
        sample = next(batches, None) if texts else None
        if sample is None:
            return []
        columns = {name: sample.column(name) for name in texts}
        return [
            name
            for name, column in columns.items()
            if pa.types.is_string(column.type) and repeat_often(column)
        ]

    def _reopen(self, encoded: Sequence[str]) -> None:
        """Read some columns with their dictionaries from now on."""
        metadata = self._file.metadata
        self._file.close()
        self._file = pq.ParquetFile(self._path, metadata=metadata, read_dictionary=encoded)

    def _bytes_before(self, row: int) -> int:
        """Return the size of the row groups before a row, including a proportional part of its own group."""
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
        self._columns.check({field.name: field.type for field in schema})
        for name in self._columns.declared_names:
            if len(schema.get_all_field_indices(name)) > 1:
                raise columns_error(self._path, f'it has column "{name}" twice')
