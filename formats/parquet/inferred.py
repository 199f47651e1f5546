"""Infers the columns of Parquet files from their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from fsql.formats.arrow_columns import fits
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
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition(". ")[0].splitlines()[0].rstrip(".")
        raise NotInferredError(f"{reason[:1].lower()}{reason[1:]}") from None
    for field in schema:
        found = sql_type_of(field.type)
        holds = found is not None and fits(field.type, found)
        yield field.name, found if holds else None, str(field.type)
