"""Infers the columns of files from their first bytes."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.file.compression import codec_of
from fsql.connectors.file.found_files import find_files
from fsql.connectors.file.source import FileSplit
from fsql.connectors.settings import has_envelope, has_layout
from fsql.formats.factories import infer_file_columns, infer_line_columns, make_decoder
from fsql.formats.inferred_types import NotInferredError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.schema import Schema
    from fsql.connectors.context import ConnectorContext
    from fsql.connectors.file.found_files import FoundFile
    from fsql.formats.settings import Settings

_FILES: Final = 8
"""The maximum number of files that are examined: the first ones by name."""
_BYTES: Final = 1 << 20
"""The maximum number of bytes that are examined of each file."""


def infer_columns(settings: Settings, context: ConnectorContext) -> Schema:
    """Return the columns of the files that the path names.

    Raises:
        FsqlError: E225, if the columns cannot be inferred; E531, E533 or E535, if the files cannot be read.
    """
    found = find_files(context.resolve(settings.text("path")))
    for file in found:
        context.resolve(str(file.path))
    if settings.reads_changes or has_envelope(settings):
        raise _inference_error(found[0], "its records are changes")
    try:
        if has_layout(settings, Layout.FILE):
            columns = infer_file_columns(found[0].path, settings)
        else:
            columns = infer_line_columns(_samples(found[:_FILES], settings), settings)
        _check_names(columns)
    except NotInferredError as error:
        raise _inference_error(found[0], str(error)) from None
    return columns


def _check_names(columns: Schema) -> None:
    """Check that the names of columns differ, ignoring case.

    Raises:
        NotInferredError: if two are equal.
    """
    known: dict[str, str] = {}
    for column in columns:
        first = known.setdefault(column.name.lower(), column.name)
        if first != column.name:
            raise NotInferredError(f'columns "{first}" and "{column.name}" differ in case only')
    if len(known) < len(columns):
        raise NotInferredError("it has a column twice")


def _inference_error(file: FoundFile, reason: str) -> FsqlError:
    message = f'the columns of "{file.path}" cannot be inferred: {reason}'
    helps = ("declare the columns in CREATE TABLE",)
    return FsqlError([Diagnostic("E225", message, helps=helps)])


def _samples(found: Sequence[FoundFile], settings: Settings) -> list[bytes]:
    option = settings.text("compression")
    decoder = make_decoder((), settings)
    splits = [FileSplit(name, path, decoder, codec_of(path, option)) for name, path in found]
    return [split.first_bytes(_BYTES).removeprefix(BOM_UTF8) for split in splits]
