"""Encodes rows as Parquet files, through Arrow tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from fsql.formats.file_rows import FileRows

if TYPE_CHECKING:
    import pyarrow as pa

    from fsql.compiler.logical import SinkTable
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Release


def make_parts(sink: SinkTable, settings: Settings) -> ParquetParts:
    """Return the encoder of the files of a table."""
    return ParquetParts(sink, settings.number("rows_per_file"), settings.text("compression"))


class ParquetParts:
    """Encodes files of `rows_per_file` rows of one table; equal rows give equal bytes."""

    suffix = ".parquet"

    def __init__(self, sink: SinkTable, rows_per_file: int, compression: str) -> None:
        self.rows_per_file = rows_per_file
        self._compression = compression
        self._rows = FileRows(sink)
        self.schema = self._rows.schema

    def rows(self, release: Release) -> pa.Table:
        """Return released rows as a table."""
        return self._rows.table(release)

    def file(self, rows: pa.Table) -> bytes:
        """Return the bytes of a file with these rows."""
        data = io.BytesIO()
        whole = rows.combine_chunks()
        pq.write_table(
            whole, data, compression=self._compression, row_group_size=max(whole.num_rows, 1)
        )
        return data.getvalue()
