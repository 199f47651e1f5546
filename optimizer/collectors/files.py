"""Reads the files of statistics; damaged ones are skipped and reported.

A file never changes.  So a caller that collects repeatedly keeps the content (`Kept`), and each file is read
only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.compiler.owner_map import BINS
from fsql.compiler.statistics import COMMON, DIRECTORY, SCHEMA, TABLES
from fsql.optimizer.collectors.results import GONE_AFTER
from fsql.optimizer.statistics import INTERVALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

FILE_BYTES_MAX: Final = 64 << 20

_SPANS: Final = ("worker", "interval", "from", "to")
_OF_ALL_WORKERS: Final = "operators"
"""A table of which every worker writes a file in each interval: its reader is an operator."""

Kept: TypeAlias = "dict[Path, pa.Table]"
"""The content of files by path; `read_files` adds to it, and removes files that are no longer needed."""


def read_files(
    state: Path,
    take: Callable[[str, Path, pa.Table], None],
    tables: Sequence[str] = tuple(TABLES),
    intervals: int = INTERVALS,
    kept: Kept | None = None,
) -> tuple[str, ...]:
    """Read the statistics of the newest intervals in a state directory: all tables, or those given.

    `take` is called with the table, the path and the content of each file; files in `kept` are not read
    again.  Returns the reasons why files were skipped.
    """
    before = dict(kept) if kept is not None else {}
    found: Kept = {}
    files = {table: _list_files(state / DIRECTORY / table) for table in tables}
    newest = max((number for each in files.values() for number, _ in each), default=0)
    problems = []
    for table, numbered in files.items():
        for number, path in numbered:
            if number > newest - intervals:
                try:
                    content = before[path] if path in before else _read(path, table)
                except (OSError, pa.ArrowException, ValueError) as error:
                    reason = str(error).partition("\n")[0]
                    problems.append(f'"{path}" is skipped: {reason}')
                else:
                    found[path] = content
                    take(table, path, content)
    if kept is not None:
        kept.clear()
        kept.update(found)
    return tuple(problems)


def newest_interval(state: Path) -> int:
    """Return the number of the newest interval of which a worker has written a file, 0 if none has."""
    files = (_list_files(state / DIRECTORY / table) for table in TABLES)
    return max((number for each in files for number, _ in each), default=0)


def newest_of_workers(state: Path) -> dict[int, int]:
    """Return the newest interval that each worker has written, without workers that have left."""
    found: dict[int, int] = {}
    for number, path in _list_files(state / DIRECTORY / _OF_ALL_WORKERS):
        worker = path.stem.rpartition("-")[2]
        if worker.isdecimal():
            found[int(worker)] = max(number, found.get(int(worker), 0))
    last = max(found.values(), default=0)
    return {worker: number for worker, number in found.items() if number > last - GONE_AFTER}


def have_advanced(newest: Mapping[int, int], before: Mapping[int, int]) -> bool:
    """Return whether every worker has written an interval that is newer than before."""
    return bool(newest) and all(number > before.get(each, -1) for each, number in newest.items())


def spans_in(tables: Iterable[pa.Table]) -> set[tuple[int, int, int, int]]:
    """Return the spans of the rows of tables, as arguments of `results.spans_of`."""
    found: set[tuple[int, int, int, int]] = set()
    for table in tables:
        distinct = table.select(_SPANS).group_by(_SPANS).aggregate([])
        columns = (distinct.column(name).to_pylist() for name in _SPANS)
        found.update(zip(*columns, strict=True))
    return found


def arrow_schema(table: str) -> pa.Schema:
    """Return the columns of a table."""
    return pa.schema([(name, getattr(pa, kind)()) for name, kind in (*COMMON, *TABLES[table])])


def _list_files(directory: Path) -> list[tuple[int, Path]]:
    """Return the files of a table with the numbers of their intervals, ascending."""
    try:
        names = sorted(each.name for each in directory.iterdir())
    except OSError:
        return []
    numbers = [(name.partition("-")[0], name) for name in names if name.endswith(".parquet")]
    return [(int(number), directory / name) for number, name in numbers if number.isdecimal()]


def _read(path: Path, table: str) -> pa.Table:
    """Return the content of a file.

    Raises:
        OSError: if it cannot be read, for example because it has been removed.
        pa.ArrowException: if it is damaged.
        ValueError: if it is of another version.
    """
    size = path.stat().st_size
    if size > FILE_BYTES_MAX:
        raise ValueError(f"it has {size:,} bytes, and the limit is {FILE_BYTES_MAX:,}")
    # `read_table` would search for a data set, which takes longer than reading the file.
    file = pq.ParquetFile(pa.BufferReader(path.read_bytes()), page_checksum_verification=True)
    content = file.read(use_threads=False)
    if not content.schema.equals(arrow_schema(table)):
        raise ValueError("it has other columns")
    versions = content.column("schema").unique().to_pylist()
    if versions != [SCHEMA]:
        raise ValueError(f"its version is {versions}, and this is {SCHEMA}")
    if any(column.null_count for column in content.columns):
        raise ValueError("it lacks values")
    begins, ends = (content.column(name).to_numpy() for name in ("from", "to"))
    if np.any(begins >= ends):
        raise ValueError("an interval in it does not end after it begins")
    if table == "bins":
        bins = content.column("bin").to_numpy()
        if np.any((bins < 0) | (bins >= BINS)):
            raise ValueError(f"a bin in it is not one of {BINS:,}")
    return content
