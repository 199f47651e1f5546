"""The state of a worker: what makes opening it fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owners import ALL_BINS_OF_ALL
from fsql.runtime.batch import Root
from fsql.runtime.cluster.manifest import Manifest, own_store
from fsql.runtime.hosts.worker_state import StateFailedError, WorkerState
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    HASH,
    NEVER,
    IncrementalSnapshot,
)
from fsql.runtime.state.local_directory import LocalDirectory, worker_directory

if TYPE_CHECKING:
    from pathlib import Path


def test_a_store_that_is_in_use_is_no_failure_of_the_disk(tmp_path: Path) -> None:
    first = WorkerState(LocalDirectory(tmp_path), 2)
    with pytest.raises(StateFailedError) as raised:
        WorkerState(LocalDirectory(tmp_path), 2)
    assert not raised.value.disk_failed
    first.close()
    WorkerState(LocalDirectory(tmp_path), 2).close()


def test_a_store_that_another_process_keeps_open_is_read_and_not_waited_for(tmp_path: Path) -> None:
    directory = LocalDirectory(tmp_path)
    stopped = WorkerState(directory, 1)
    stopped.load(None, 1, ALL_BINS_OF_ALL)
    columns = [pa.array([1, 2]), pa.array([10, 20]), pa.array([NEVER, NEVER])]
    rows = pa.RecordBatch.from_arrays(columns, ["k", HASH, EXPIRES])
    change = IncrementalSnapshot(rows, 1, appends=False)
    segments = stopped.store(1, Root(5, 0), [("fold", change)])
    manifest = Manifest("job", 0, 1, 1, (5, 0), 2, segments, ())
    assert manifest.store_of(1) == 1

    successor = WorkerState(directory, manifest.store_of(1), own_store(1, 2))
    state = successor.load(manifest, 2, ALL_BINS_OF_ALL)
    assert state["fold"][0].rows.equals(rows)
    later = successor.store(2, Root(6, 0), [])
    assert {segment.worker for segment in later} == {own_store(1, 2)}
    assert directory.stores() == (1, own_store(1, 2))
    assert worker_directory(tmp_path, own_store(1, 2)).name == "worker-1.2"

    # Its own changes after that are in no manifest.
    stopped.store(2, Root(6, 0), [("fold", change)])
    manifest = Manifest("job", 0, 2, 2, (6, 0), 2, later, ())
    stopped.close()
    successor.close()
    third = WorkerState(directory, manifest.store_of(1), own_store(1, 3))
    assert third.number == own_store(1, 2)
    assert third.load(manifest, 3, ALL_BINS_OF_ALL)["fold"][0].rows.equals(rows)
    third.close()


def test_a_store_that_cannot_be_made_is_a_failure_of_the_disk(tmp_path: Path) -> None:
    worker_directory(tmp_path, 2).write_bytes(b"")
    with pytest.raises(StateFailedError) as raised:
        WorkerState(LocalDirectory(tmp_path), 2)
    assert raised.value.disk_failed


def test_a_damaged_store_ends_the_job_and_names_the_remedy(tmp_path: Path) -> None:
    """Restoring again would find the same damage, for ever."""
    WorkerState(LocalDirectory(tmp_path), 2).close()
    (tmp_path / "worker-2" / "CURRENT").write_bytes(b"MANIF")
    with pytest.raises(FsqlError) as raised:
        WorkerState(LocalDirectory(tmp_path), 2)
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "E612"
    assert str(worker_directory(tmp_path, 2)) in diagnostic.message
    assert "fsql snapshot salvage --state DIRECTORY" in diagnostic.helps[0]
