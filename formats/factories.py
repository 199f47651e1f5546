"""The readers and writers of formats, by name.

The modules of a format are imported on demand: a job imports only the formats that it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

    from fsql.compiler.connectors import Options
    from fsql.compiler.logical import SinkTable
    from fsql.compiler.schema import InferenceNote, Schema
    from fsql.formats.lines import LineDecoder, LineEncoder
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Release, SourceOffset, SplitReader

InferredColumns: TypeAlias = "tuple[Schema, Options, tuple[InferenceNote, ...]]"
"""Columns, options that the input shows, and notes about columns."""


class DecoderModule(Protocol):
    """The module `decoder` of a format of lines."""

    def make_decoder(self, columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
        """Return a factory of decoders, one for each split of a table with these columns.

        Raises:
            FsqlError: E534, if the settings are not valid.
        """


class EncoderModule(Protocol):
    """The module `encoder` of a format of lines."""

    def make_encoder(self, sink: SinkTable, settings: Settings) -> LineEncoder:
        """Return the encoder of the rows of a table.

        Raises:
            FsqlError: E534, if the settings are not valid.
        """


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders, one for each split, by the option `format`.

    Raises:
        FsqlError: E534, if the settings are not valid.
    """
    module = _module(settings, "decoder")
    make = cast("DecoderModule", module).make_decoder(columns, settings)
    required = settings.required_unless_deleted
    if not settings.reads_changes and not required:
        return make
    from fsql.formats.operations import ChangeDecoder  # most tables have rows, not changes

    return lambda: ChangeDecoder(make(), columns, required)


def make_encoder(sink: SinkTable, settings: Settings) -> LineEncoder:
    """Return the encoder of the rows of a table, by the option `format`.

    Raises:
        FsqlError: E534, if the settings are not valid.
    """
    module = _module(settings, "encoder")
    return cast("EncoderModule", module).make_encoder(sink, settings)


def infer_line_columns(samples: Sequence[bytes], settings: Settings) -> InferredColumns:
    """Return the columns of files of lines; `samples` are the first lines of each file, at least one.

    After the columns come the options that the samples show, and that are not given, and notes about columns
    whose values have no common type.

    Raises:
        NotInferredError: if they cannot be inferred from the samples.
    """
    module: Any = _module(settings, "inferred")
    return cast("InferredColumns", module.infer_columns(samples, settings))


def infer_file_columns(
    paths: Sequence[Path], settings: Settings
) -> tuple[Schema, tuple[InferenceNote, ...]]:
    """Return the columns of files with their own structure, and notes about columns that no type holds.

    Raises:
        NotInferredError: if they cannot be inferred.
    """
    module: Any = _module(settings, "inferred")
    return cast("tuple[Schema, tuple[InferenceNote, ...]]", module.infer_file_columns(paths))


class FileSplit(Protocol):
    """A file with its own structure as a split; `check` raises the errors of `open` early."""

    name: str
    path: Path

    def column_types(self) -> dict[str, str]:
        """Return the columns of the file with the names of their types.

        Raises:
            FsqlError: E531, if it cannot be opened.
        """

    def with_elsewhere(self, names: frozenset[str]) -> Self:
        """Return the split of one of several files, which have the columns with these names."""

    def open(self, source_offset: SourceOffset | None = None) -> SplitReader:
        """Return a reader at the first row, or at the source offset of another reader.

        Raises:
            FsqlError: E531, if the file cannot be opened; E536, if it is not the file that was read before.
        """

    def check(self) -> None:
        """Check that the file has the columns.

        Raises:
            FsqlError: E531, if it does not.
        """


class Parts(Protocol):
    """Encodes rows of one table as whole files; equal rows give equal bytes."""

    rows_per_file: int
    suffix: str
    schema: pa.Schema

    def rows(self, release: Release) -> pa.Table:
        """Return released rows as a table."""

    def file(self, rows: pa.Table) -> bytes:
        """Return the bytes of a file with these rows."""


def make_split(
    name: str, path: Path, columns: Schema, settings: Settings, read: frozenset[str] | None
) -> FileSplit:
    """Return a file as a split of a table with these columns, by the option `format`.

    If `read` is given, only the columns that it names need values; the others may be NULL.
    """
    module: Any = _module(settings, "split")
    split: FileSplit = module.make_split(name, path, columns, settings, read)
    return split


def make_parts(sink: SinkTable, settings: Settings) -> Parts:
    """Return the encoder of the files of a table, by the option `format`."""
    module: Any = _module(settings, "parts")
    parts: Parts = module.make_parts(sink, settings)
    return parts


def _module(settings: Settings, name: str) -> Any:  # noqa: ANN401 - a module of the format
    package = settings.text("format").replace("-", "_")
    return import_module(f"fsql.formats.{package}.{name}")
