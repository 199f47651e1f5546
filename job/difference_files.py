"""The files with the rows that outputs get at the position of a change of the plan.

A file is in the state directory, and its name has the hash of its bytes.  It is written before the
description that names it is in place, is never changed, and is removed once no description names it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import Batch
from fsql.runtime.state.local_directory import sync_directory

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from fsql.runtime.batch import Root

_WEIGHT: Final = "weight"
_PREFIX: Final = "difference-"


def write_difference(state: Path, rows: Batch) -> str:
    """Write the rows of an output to a file in the state directory; return its hash."""
    columns = [*rows.columns, pa.array(rows.weights())]
    names = [*(f"column_{index}" for index in range(len(rows.columns))), _WEIGHT]
    batch = pa.RecordBatch.from_arrays(columns, names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data = sink.getvalue()
    digest = xxhash.xxh3_128_hexdigest(data)
    with open(state / difference_name(digest), "wb", opener=_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(state)
    return digest


def _private(path: str, flags: int) -> int:
    """Open a file like `open`; a new file is accessible to its owner only."""
    return os.open(path, flags, 0o600)


def read_difference(state: Path, digest: str, position: Root, depth: int = 0) -> Batch:
    """Return the rows in a file, at a position, with paths of `depth`; they are read when they are used.

    Raises:
        FsqlError: E614, if it is missing or damaged.
    """
    path = state / difference_name(digest)
    try:
        data = pa.memory_map(str(path)).read_buffer()
        if xxhash.xxh3_128_hexdigest(data) != digest:
            raise _damaged(path, "its hash does not match")
        with pa.ipc.open_file(pa.py_buffer(data)) as reader:
            [batch] = (reader.get_batch(number) for number in range(reader.num_record_batches))
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, str(error)) from None
    count = batch.num_rows
    times, origins = (np.full(count, part, np.int64) for part in position)
    weight = batch.column(_WEIGHT).to_numpy()
    levels = (np.zeros(count, np.int64),) * depth
    return Batch(batch.columns[:-1], times, origins, levels, weight)


def remove_differences(state: Path, kept: Collection[str]) -> None:
    """Remove the files whose hashes are not among `kept`."""
    for path in state.glob(f"{_PREFIX}*"):
        if path.name.removeprefix(_PREFIX) not in kept:
            path.unlink(missing_ok=True)


def difference_name(digest: str) -> str:
    """Return the name of the file with a hash."""
    return f"{_PREFIX}{digest}"


def _damaged(path: Path, reason: str) -> FsqlError:
    return FsqlError([Diagnostic("E614", f'"{path}" cannot be read: {reason}')])
