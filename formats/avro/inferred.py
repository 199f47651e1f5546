"""Infers the columns of Avro files from their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.formats.arrow_columns import fits
from fsql.formats.avro.split import open_container
from fsql.formats.avro.values import arrow_type_of, name_of
from fsql.formats.inferred_types import NotInferredError
from fsql.formats.merged_columns import merged
from fsql.runtime.arrow_schema import sql_type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.compiler.schema import InferenceNote, Schema
    from fsql.compiler.sqltypes import SqlType


def infer_file_columns(paths: Sequence[Path]) -> tuple[Schema, tuple[InferenceNote, ...]]:
    """Return the columns of files, by their schemas, and notes about columns that no type holds.

    Raises:
        NotInferredError: if one cannot be read.
    """
    return merged(map(_columns_of, paths))


def _columns_of(path: Path) -> Iterator[tuple[str, SqlType | None, str]]:
    try:
        file, _, row = open_container(path)
    except FsqlError as error:
        reason = error.diagnostics[0].message.partition(" cannot be read: ")[2]
        raise NotInferredError(reason) from None
    file.close()
    for name, avro in zip(row.names, row.parts, strict=True):
        arrow = arrow_type_of(avro)
        found = None if arrow is None else sql_type_of(arrow)
        holds = found is not None and fits(arrow, found, narrow=True)
        yield name, found if holds else None, name_of(avro)
