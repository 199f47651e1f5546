"""Partition columns of files: their values are in the names of folders, `sales/day=2026-01-01/part.parquet`.

In a name, `%` with two hexadecimal digits is a character, as Hive, Spark and Flink write `/` and `:`; two
names stand for NULL.
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import STRING
from fsql.connectors.file.found_files import is_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fsql.compiler.schema import Column

_NULLS: Final = frozenset({"__HIVE_DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"})
"""The names of folders for NULL: those of Hive and Spark, and of Flink."""


def searched_path(path: Path, names: Sequence[str]) -> Path:
    """Return the pattern of the files of a partitioned table, whose path may be the folder of all of them."""
    if not names or is_pattern(path) or not path.is_dir():
        return path
    missing = [name for name in names if _folder_value(path / "file", name) is None]
    return Path(path, *(f"{glob.escape(name)}=*" for name in missing), "*") if missing else path


def partition_text(path: Path, name: str) -> str | None:
    """Return the value of a partition column for a file, as text; None for NULL.

    Raises:
        FsqlError: E543, if no folder of the path has the name.
    """
    text = _folder_value(path, name)
    if text is None:
        message = f'input "{path}" is not in a folder of partition column "{name}"'
        helps = (
            f"move it to a folder such as {name}=x, or name only such folders in the path: '{name}=*/*'",
        )
        raise FsqlError([Diagnostic("E543", message, helps=helps)])
    return None if text in _NULLS else unquote(text)


def partition_value(path: Path, column: Column) -> pa.Array:
    """Return the value of a partition column for all rows of a file, as a column of one row.

    Raises:
        FsqlError: E543, if there is none, or it is not one of the column.
    """
    text = partition_text(path, column.name)
    try:
        value = cast_value(text, STRING, column.type)
    except RowFailure as failure:
        message = f'the folder of partition column "{column.name}" of input "{path}": {failure}'
        helps = (f"correct the name of the folder, or declare {column.name} as STRING",)
        raise FsqlError([Diagnostic("E543", message, helps=helps)]) from None
    if value is None and not column.nullable:
        message = f'partition column "{column.name}" is NOT NULL, and NULL for input "{path}"'
        helps = (f"declare {column.name} without NOT NULL",)
        raise FsqlError([Diagnostic("E543", message, helps=helps)])
    from fsql.runtime.arrow_types import to_arrow  # a check of files needs no columns

    return to_arrow([value], column.type)


def _folder_value(path: Path, name: str) -> str | None:
    """Return what follows `name=` in the folder of that name that is nearest to the file."""
    for part in reversed(path.parts[:-1]):
        key, equal, value = part.partition("=")
        if equal and unquote(key).lower() == name.lower():
            return value
    return None
