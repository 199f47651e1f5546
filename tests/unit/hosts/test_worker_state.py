"""The state of a worker: what makes opening it fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.runtime.hosts.worker_state import StateFailedError, WorkerState
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


def test_a_store_that_cannot_be_made_is_a_failure_of_the_disk(tmp_path: Path) -> None:
    worker_directory(tmp_path, 2).write_bytes(b"")
    with pytest.raises(StateFailedError) as raised:
        WorkerState(LocalDirectory(tmp_path), 2)
    assert raised.value.disk_failed
