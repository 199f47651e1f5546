"""An Avro file as a split, which is read block by block."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.formats.avro.container import BlockError, Container
from fsql.formats.avro.damage import DamagedError
from fsql.formats.avro.schema import SchemaError, read_schema
from fsql.formats.avro.values import arrow_type_of, column_of, encoded_type, name_of
from fsql.formats.whole_files import (
    ReadColumns,
    WholeFileSplit,
    check_replayable,
    columns_error,
    identity,
    open_error,
    reason_of,
)
from fsql.runtime.ports import SourceOffset

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from fsql.formats.avro.container import Block
    from fsql.formats.avro.schema import AvroType
    from fsql.runtime.ports import Chunk

_CHUNK_BYTES: Final = 1 << 22
"""A chunk ends at a block once its rows have taken this many bytes."""
_INVALID: Final = (
    EOFError,
    IndexError,
    KeyError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)
"""The exceptions of the decoder for bytes that do not match the schema."""


class AvroSplit(WholeFileSplit):
    """An Avro file."""

    __slots__ = ()

    def column_types(self) -> dict[str, str]:
        """See `WholeFileSplit`."""
        file, _, row = open_container(self.path)
        file.close()
        return dict(zip(row.names, map(name_of, row.parts), strict=True))

    def _reader(self, columns: ReadColumns, source_offset: SourceOffset | None) -> AvroReader:
        return AvroReader(self.path, columns, source_offset)


make_split: Final = AvroSplit.of_table


def open_container(path: Path) -> tuple[BinaryIO, Container, AvroType]:
    """Return an open file, its container and the type of its rows.

    Raises:
        FsqlError: E531, if it cannot be opened, or is not an Avro file that can be read.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise open_error(path, reason_of(error)) from None
    try:
        container = Container(file)
        return file, container, read_schema(container.header.schema)
    except (OSError, DamagedError) as error:
        file.close()
        raise open_error(path, reason_of(error)) from None
    except SchemaError as error:
        file.close()
        raise open_error(path, str(error), "write the file with another schema") from None


class AvroReader:
    """Reads the rows of a file in order; the byte of a source offset is interpolated within a block."""

    def __init__(
        self, path: Path, columns: ReadColumns, source_offset: SourceOffset | None
    ) -> None:
        self._path = path
        self._columns = columns
        self._file, self._container, self._type = open_container(path)
        try:
            self._check_columns()
            self._content = identity(path)
            check_replayable(path, self._content, source_offset)
            self._writer, self._reader = self._schemas()
            self._block: Block | None = None
            self._data = io.BytesIO()
            self._done = 0
            self._row = 0
            self._byte = 0
            if source_offset is not None:
                self._skip(source_offset.row)
        except OSError as error:
            self._file.close()
            raise open_error(path, reason_of(error)) from None
        except BaseException:
            self._file.close()
            raise

    def read(self, rows_max: int) -> Chunk | None:
        """Return up to `rows_max` further rows, or None at the end.

        Raises:
            FsqlError: E535, if the file cannot be read, or is damaged.
        """
        rows: list[dict[str, Any]] = []
        size = 0
        try:
            while len(rows) < rows_max and size < _CHUNK_BYTES and self._enter():
                before = self._data.tell()
                rows += self._decode(rows_max - len(rows))
                size += self._data.tell() - before
            if not rows:
                return None
            part = self._record_batch(rows)
        except (BlockError, OSError) as error:
            raise _damage_error(self._path, str(error)) from None
        first, self._row = self._row, self._row + len(rows)
        byte, self._byte = self._byte, self._place()
        return self._columns.chunk(part, first, self._byte - byte)

    def bytes_passed(self) -> int:
        """Return the number of bytes of the file that have been read, interpolated within a block."""
        return self._byte

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader."""
        return SourceOffset(self._row, 0, self._byte, self._content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _enter(self) -> bool:
        """Begin the next block if all rows of the last one are read; return whether there are more rows."""
        while self._block is None or self._done == self._block.rows:
            self._block = self._container.next_block()
            self._done = 0
            if self._block is None:
                return False
            self._load(self._block)
        return True

    def _load(self, block: Block) -> None:
        contents = self._container.contents(block)
        if block.rows * self._type.bytes_min > len(contents) or (contents and not block.rows):
            reason = f"states {block.rows:,} rows and has {len(contents):,} bytes of them"
            raise BlockError(block.number, block.start, reason)
        self._data = io.BytesIO(contents)

    def _decode(self, rows_max: int) -> list[dict[str, Any]]:
        """Return up to `rows_max` further rows of the block."""
        assert self._block is not None
        count = min(rows_max, self._block.rows - self._done)
        data, writer, reader, decode = (
            self._data,
            self._writer,
            self._reader,
            fastavro.schemaless_reader,
        )
        try:
            rows = [decode(data, writer, reader) for _ in range(count)]
        except _INVALID:
            reason = "has bytes that are not rows of the schema"
            raise BlockError(self._block.number, self._block.start, reason) from None
        self._done += count
        if self._done == self._block.rows and data.read(1):
            reason = "has more bytes than its rows"
            raise BlockError(self._block.number, self._block.start, reason)
        return rows

    def _record_batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        names = self._columns.names
        columns = []
        for name in names:
            at = self._type.names.index(name)
            try:
                columns.append(column_of([row[f"f{at}"] for row in rows], self._type.parts[at]))
            except DamagedError as error:
                last = self._row + len(rows) - 1
                reason = f'column "{name}" in rows {self._row:,} to {last:,} {error}'
                raise _damage_error(self._path, reason) from None
        if not names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        return pa.RecordBatch.from_arrays(columns, names)

    def _schemas(self) -> tuple[Any, Any]:
        """Return the schema of the encoded rows, and that of the columns that are read."""
        encoded = encoded_type(self._type)
        wanted = {f"f{self._type.names.index(name)}" for name in self._columns.names}
        kept = [each for each in encoded["fields"] if each["name"] in wanted]
        if len(kept) == len(encoded["fields"]):
            return fastavro.parse_schema(encoded), None
        reader = fastavro.parse_schema({**encoded, "fields": kept})
        return fastavro.parse_schema(encoded), reader

    def _check_columns(self) -> None:
        fields = dict(zip(self._type.names, self._type.parts, strict=True))
        for name in self._columns.names:
            if name in fields and arrow_type_of(fields[name]) is None:
                reason = f'its column "{name}" is {name_of(fields[name])}, which is not read'
                raise columns_error(self._path, reason, "write it with one type, or null and one")
        types = {name: arrow_type_of(each) or pa.null() for name, each in fields.items()}
        self._columns.check(types, narrow=True)

    def _skip(self, row: int) -> None:
        """Go to a row; whole blocks before it are skipped without being read."""
        try:
            while self._row < row:
                block = self._container.next_block()
                if block is None:
                    raise _damage_error(self._path, f"it ends before row {row:,}")
                self._block, self._done = block, min(block.rows, row - self._row)
                if self._done < block.rows:
                    self._load(block)
                    self._done = 0
                    self._decode(row - self._row)
                self._row += self._done
        except BlockError as error:
            raise _damage_error(self._path, str(error)) from None
        self._byte = self._place()

    def _place(self) -> int:
        """Return the offset in the file up to which rows are read, interpolated within a block."""
        block = self._block
        if block is None:
            return self._container.size if self._row else 0
        return block.start + (block.end - block.start) * self._done // max(block.rows, 1)


def _damage_error(path: Path, reason: str) -> FsqlError:
    message = f'reading "{path}" failed: {reason}'
    helps = ("restore the file, or remove it from the path",)
    return FsqlError([Diagnostic("E535", message, helps=helps)])
