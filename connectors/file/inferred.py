"""Infers the columns of files from their first bytes."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DATE, STRING
from fsql.connectors.file.compression import codec_in
from fsql.connectors.file.contents import first_bytes
from fsql.connectors.file.found_files import find_files
from fsql.connectors.file.partitions import partition_text, searched_path
from fsql.connectors.settings import has_envelope, has_layout
from fsql.formats.factories import infer_file_columns, infer_line_columns
from fsql.formats.forms import encoding_help, guessed_encoding, other_form
from fsql.formats.inferred_types import NotInferredError, type_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.compiler.connectors import Options
    from fsql.compiler.schema import InferenceNote, Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.connectors.context import ConnectorContext
    from fsql.connectors.file.found_files import FoundFile
    from fsql.formats.factories import InferredColumns
    from fsql.formats.settings import Settings

_FILES: Final = 8
"""Of how many files, the first ones by name, `_BYTES` are examined."""
_BYTES: Final = 1 << 20
_BYTES_OF_OTHERS: Final = 1 << 14
"""How many bytes of each further file are examined."""


def infer_columns(
    settings: Settings, context: ConnectorContext, partitions: Sequence[str] = ()
) -> InferredColumns:
    """Return the columns of the files that the path names, then the partition columns with these names.

    A field of the records with the name of a partition column is not a column.  The options are those of the
    format that the files show, and that are not given; notes are about columns without a common type.

    Raises:
        FsqlError: E225, if the columns cannot be inferred; E531, E533, E535 or E543, if the files cannot be
            read.
    """
    found = find_files(searched_path(context.resolve(settings.text("path")), partitions))
    for file in found:
        context.resolve(str(file.path))
    if settings.reads_changes or has_envelope(settings):
        raise _inference_error(found[0], NotInferredError("its records are changes"))
    options: Options = ()
    notes: tuple[InferenceNote, ...] = ()
    try:
        if has_layout(settings, Layout.FILE):
            columns, notes = infer_file_columns([file.path for file in found], settings)
        else:
            samples = _samples(found, settings)
            columns, options, notes = infer_line_columns(samples, settings)
        folders = {name.lower() for name in partitions}
        columns = tuple(each for each in columns if each.name.lower() not in folders)
        columns = (*columns, *(Column(name, _type_in(found, name)) for name in partitions))
        _check_names(columns)
    except NotInferredError as error:
        raise _inference_error(found[0], error) from None
    return columns, options, notes


def _type_in(found: Sequence[FoundFile], name: str) -> SqlType:
    """Return the type of a partition column: the narrowest one that has the values of all files."""
    texts = {partition_text(file.path, name) for file in found} - {None}
    types = {_type_of(text) for text in texts if text is not None}
    return types.pop() if len(types) == 1 else STRING


def _type_of(text: str) -> SqlType:
    """Return BIGINT or DATE for a text that is how such a value is written, otherwise STRING."""
    if re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text):
        return BIGINT
    return DATE if re.fullmatch(r"\d{4}-\d\d-\d\d", text) and type_of_text(text) == DATE else STRING


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


def _inference_error(file: FoundFile, reason: NotInferredError) -> FsqlError:
    message = f'the columns of "{file.path}" cannot be inferred: {reason}'
    helps = reason.helps or ("declare the columns in CREATE TABLE",)
    return FsqlError([Diagnostic("E225", message, helps=helps)])


def _samples(found: Sequence[FoundFile], settings: Settings) -> list[bytes]:
    option = settings.text("compression")
    settings.record_bytes_max()
    encoding = settings.text("encoding")
    return [
        _sample(path, codec_in(path, option), encoding, _BYTES if at < _FILES else _BYTES_OF_OTHERS)
        for at, (_, path) in enumerate(found)
    ]


def _sample(path: Path, codec: str | None, encoding: str, count: int) -> bytes:
    """Return the first lines of a file; all of it, or one that is longer.

    Raises:
        FsqlError: E531, E535, if it cannot be read.
        NotInferredError: if it has another encoding, or is compressed.
    """
    sample, whole = first_bytes(path, codec, count, encoding)
    end = sample.rfind(b"\n") + 1
    return _text_of(sample if whole or not end else sample[:end])


def _text_of(sample: bytes) -> bytes:
    """Return a sample without its byte order mark.

    Raises:
        NotInferredError: if it is compressed, or in UTF-16.
    """
    form = other_form(sample)
    encoding = guessed_encoding(sample.partition(b"\n")[0], at_start=True)
    if encoding is not None:
        form = form or f"not UTF-8, and reads as {encoding}"
        raise NotInferredError(f"it is {form}", encoding_help(encoding))
    if form is not None:
        raise NotInferredError(f"it is {form}")
    return sample.removeprefix(BOM_UTF8)
