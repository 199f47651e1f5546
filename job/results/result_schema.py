"""The columns of a result: their SQL types, as its log names them, and their Arrow types."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText
from fsql.job.compilation import compile_job
from fsql.job.memory import Memory, columns_of, declaration, quote
from fsql.job.script import Script
from fsql.runtime.arrow_types import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from fsql.compiler.schema import Schema

NOWHERE = Path("/nonexistent")
"""The base directory of scripts that may not read files."""


@dataclass(frozen=True, slots=True)
class ResultSchema:
    """The columns of a result; `declaration` is the CREATE TABLE statement with which it is read."""

    table: str
    columns: Schema
    types: tuple[pa.DataType, ...]
    declaration: str

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.columns]


@lru_cache(maxsize=256)
def schema_of(table: str, columns: tuple[tuple[str, str, bool], ...]) -> ResultSchema:
    """Return the schema of a result by names and SQL types of its columns."""
    texts = [
        text if nullable else f"{text} NOT NULL"
        for text, (_, _, nullable) in zip(
            columns_of((name, kind) for name, kind, _ in columns), columns, strict=True
        )
    ]
    statement = declaration(table, texts)
    query = SourceText("<result>", f"SELECT * FROM {quote(table)}")  # noqa: S608 - it is quoted
    compiled = compile_job(Script(query, {}, NOWHERE, memory=Memory(statement, {})))
    (insert,) = compiled.job.inserts
    found = insert.sink.columns
    types = tuple(arrow_type(column.type) for column in found)
    return ResultSchema(table, found, types, statement)
