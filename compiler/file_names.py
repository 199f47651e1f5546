"""Names that are likely those of files."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from fsql.compiler.connectors import COMPRESSION_SUFFIXES

_SUFFIXES: Final = frozenset(
    {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet", ".avro"}
)


def names_file(text: str) -> bool:
    """Return whether a name is likely that of a file, by its end.

    >>> names_file("rows.CSV"), names_file("orders")
    (True, False)
    """
    return PurePath(text.lower()).suffix in {*_SUFFIXES, *COMPRESSION_SUFFIXES}
