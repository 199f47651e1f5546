"""Metadata columns of files: the name of the file of each row, the row's number in it, and partition columns.

They are the last columns of a table, after those that its records have.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from fsql.compiler.connectors import FILE_METADATA, METADATA, partition_name
from fsql.compiler.records import dataclass
from fsql.connectors.file.partitions import partition_value
from fsql.connectors.file.wrapped import WrappedReader, WrappedSplit
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from fsql.compiler.logical import Table
    from fsql.compiler.schema import Schema
    from fsql.connectors.file.wrapped import SplitOfFile
    from fsql.runtime.ports import SourceOffset, SplitReader, Wait


def metadata_of(table: Table) -> tuple[str, ...]:
    """Return the metadata keys of a table, which are those of its last columns."""
    keys = dict(table.options).get(METADATA)
    return () if keys is None else tuple(keys.split(","))


def partition_names(options: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of the partition columns of a table with these options."""
    keys = dict(options).get(METADATA, "").split(",")
    return [name for name in map(partition_name, keys) if name is not None]


def partition_values(table: Table, path: Path) -> dict[str, pa.Array]:
    """Return the values of the partition columns for a file, by their keys, each as a column of one row.

    Raises:
        FsqlError: E543, if the folders of the file do not have them.
    """
    keys = metadata_of(table)
    columns = zip(keys, table.columns[len(table.columns) - len(keys) :], strict=True)
    return {
        key: partition_value(path, column)
        for key, column in columns
        if partition_name(key) is not None
    }


def record_columns(table: Table) -> Schema:
    """Return the columns that the records of a table have."""
    return table.columns[: len(table.columns) - len(metadata_of(table))]


@dataclass(frozen=True, slots=True)
class MetadataSplit(WrappedSplit):
    """A file whose rows get metadata columns after the columns of its records."""

    inner: SplitOfFile
    keys: tuple[str, ...]
    partitions: Mapping[str, pa.Array] = field(default_factory=dict)

    def open(self, source_offset: SourceOffset | None = None) -> MetadataReader:
        """Return a reader at the first row, or at `source_offset`.

        Raises:
            FsqlError: as `FileSplit.open`.
        """
        return MetadataReader(self.inner.open(source_offset), self.name, self.keys, self.partitions)


class MetadataReader(WrappedReader):
    """Reads a file, and adds the metadata columns."""

    def __init__(
        self,
        inner: SplitReader,
        name: str,
        keys: tuple[str, ...],
        partitions: Mapping[str, pa.Array],
    ) -> None:
        """Read the file of that name with `inner`; `partitions` are the values of partition columns."""
        super().__init__(inner)
        self._name = name
        self._keys = keys
        self._partitions = partitions

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to about `rows_max` rows, a Wait, or None at the end."""
        chunk = self._inner.read(rows_max)
        if not isinstance(chunk, Chunk):
            return chunk
        added = [self._column(key, chunk) for key in self._keys]
        return replace(chunk, columns=[*chunk.columns, *added])

    def _column(self, key: str, chunk: Chunk) -> pa.Array:
        """Return a metadata column of the rows of a chunk."""
        import pyarrow as pa  # a check of files needs no columns

        if key in self._partitions:
            return pa.repeat(self._partitions[key][0], len(chunk.rows))
        assert key in FILE_METADATA
        if key == "row":
            return pa.array(chunk.rows, pa.int64())
        return pa.repeat(pa.scalar(self._name, pa.string()), len(chunk.rows))
