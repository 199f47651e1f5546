"""The state of a worker: what makes opening it fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pytest

from fsql.compiler.owners import ALL_BINS_OF_ALL
from fsql.runtime.batch import Root
from fsql.runtime.cluster.snapshots.manifest import Manifest, own_store
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


def test_a_store_that_cannot_be_written_any_more_is_read_and_left(tmp_path: Path) -> None:
    """Waiting would not repair it; what a snapshot needs may be undamaged."""
    WorkerState(LocalDirectory(tmp_path), 2).close()
    (tmp_path / "worker-2" / "CURRENT").write_bytes(b"MANIF")
    with pytest.raises(StateFailedError) as raised:
        WorkerState(LocalDirectory(tmp_path), 2)
    assert raised.value.damaged
    assert str(worker_directory(tmp_path, 2)) in str(raised.value)
    state = WorkerState(LocalDirectory(tmp_path), 2, own_store(2, 7))
    assert state.number == own_store(2, 7)
    state.close()


def test_damage_that_is_met_while_loading_is_named_with_its_store(tmp_path: Path) -> None:
    directory = LocalDirectory(tmp_path)
    state = WorkerState(directory, 1)
    state.load(None, 1, ALL_BINS_OF_ALL)
    columns = [pa.array([1]), pa.array([10]), pa.array([NEVER])]
    rows = pa.RecordBatch.from_arrays(columns, ["k", HASH, EXPIRES])
    segments = state.store(1, Root(5, 0), [("fold", IncrementalSnapshot(rows, 1, appends=False))])
    [segment] = segments
    changed = msgspec.structs.replace(segment, hash="0" * 32)
    with pytest.raises(StateFailedError) as raised:
        state.load(Manifest("job", 0, 1, 1, (5, 0), 2, (changed,), ()), 2, ALL_BINS_OF_ALL)
    assert (raised.value.damaged, str(raised.value)) == (
        True,
        (
            f'state segment "{segment.key}" of worker 1: it is not the one that the manifest names,'
            f' in "{worker_directory(tmp_path, 1)}"'
        ),
    )
    state.close()
