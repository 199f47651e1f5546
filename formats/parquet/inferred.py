"""Infers the columns of a Parquet file from its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from fsql.compiler.schema import Column
from fsql.formats.arrow_columns import fits
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
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition(". ")[0].splitlines()[0].rstrip(".")
        raise NotInferredError(f"{reason[:1].lower()}{reason[1:]}") from None
    columns = []
    for field in schema:
        found = sql_type_of(field.type)
        if found is None or not fits(field.type, found):
            raise NotInferredError(
                f'its column "{field.name}" is {field.type}, which no type holds'
            )
        columns.append(Column(field.name, found))
    if not columns:
        raise NotInferredError("it has no columns")
    return tuple(columns)
