"""Encodes rows as Avro files, through Arrow tables."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Final

import fastavro
import pyarrow as pa
import xxhash

from fsql.formats.avro.codecs import OF_OPTION, compress
from fsql.formats.avro.container import block_bytes, header_bytes
from fsql.formats.avro.values import encoded_type
from fsql.formats.avro.written import schema_of, type_of_arrow, values_of
from fsql.formats.file_rows import FileRows

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Release

_BLOCK_BYTES: Final = 1 << 16
"""A block ends with the row that makes it at least this long, before compression."""
_SLICE_ROWS: Final = 4096


def make_parts(sink: SinkTable, settings: Settings) -> AvroParts:
    """Return the encoder of the files of a table."""
    return AvroParts(sink, settings.number("rows_per_file"), settings.text("compression"))


class AvroParts:
    """Encodes files of `rows_per_file` rows of one table; equal rows give equal bytes.

    The sync marker between blocks, which is random in files of other programs, is a hash of the schema.
    """

    suffix = ".avro"

    def __init__(self, sink: SinkTable, rows_per_file: int, compression: str) -> None:
        self.rows_per_file = rows_per_file
        self._codec = OF_OPTION[compression]
        self._rows = FileRows(sink)
        self.schema = self._rows.schema
        row = type_of_arrow(pa.struct(list(self.schema)))
        self._encoded = fastavro.parse_schema(encoded_type(row))
        schema = json.dumps(schema_of(row, sink.name), separators=(",", ":")).encode()
        self._sync = xxhash.xxh3_128_digest(schema)
        self._header = header_bytes(schema, self._codec, self._sync)

    def rows(self, release: Release) -> pa.Table:
        """Return released rows as a table."""
        return self._rows.table(release)

    def file(self, rows: pa.Table) -> bytes:
        """Return the bytes of a file with these rows."""
        file = bytearray(self._header)
        block, count = io.BytesIO(), 0
        for start in range(0, rows.num_rows, _SLICE_ROWS):
            part = rows.slice(start, _SLICE_ROWS).combine_chunks()
            for row in values_of(part.to_struct_array().combine_chunks()):
                fastavro.schemaless_writer(block, self._encoded, row)
                count += 1
                if block.tell() >= _BLOCK_BYTES:
                    file += self._block(block, count)
                    block, count = io.BytesIO(), 0
        if count:
            file += self._block(block, count)
        return bytes(file)

    def _block(self, block: io.BytesIO, rows: int) -> bytes:
        return block_bytes(rows, compress(self._codec, block.getvalue()), self._sync)
