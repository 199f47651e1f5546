"""Infers the columns of an Avro file from its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.formats.arrow_columns import fits
from fsql.formats.avro.split import open_container
from fsql.formats.avro.values import arrow_type_of, name_of
from fsql.formats.inferred_types import NotInferredError
from fsql.runtime.arrow_schema import sql_type_of

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.schema import Schema


def infer_file_columns(path: Path) -> Schema:
    """Return the columns of a file.

    Raises:
        NotInferredError: if it cannot be read, or no SQL type has the values of a column.
    """
    try:
        file, _, row = open_container(path)
    except FsqlError as error:
        reason = error.diagnostics[0].message.partition(" cannot be read: ")[2]
        raise NotInferredError(reason) from None
    file.close()
    columns = []
    for name, avro in zip(row.names, row.parts, strict=True):
        arrow = arrow_type_of(avro)
        found = None if arrow is None else sql_type_of(arrow)
        if found is None or not fits(arrow, found, narrow=True):
            raise NotInferredError(f'its column "{name}" is {name_of(avro)}, which no type holds')
        columns.append(Column(name, found))
    return tuple(columns)
