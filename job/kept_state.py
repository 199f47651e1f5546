"""Reads the state of a job from its state directory, while the job may be running."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from fsql.runtime.kernels.keyed.incremental_snapshot import rows_of_bins
from fsql.runtime.state.loading import read_segment
from fsql.runtime.state.local_directory import LocalDirectory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.store import StateStore


@contextmanager
def open_stores(
    directory: Path, segments: Iterable[StateSegment]
) -> Iterator[Mapping[int, StateStore]]:
    """Open the stores that have some segments for reading.

    Their current values can be read until they are closed, even if a running job removes them.
    """
    workers = sorted({segment.worker for segment in segments})
    with ExitStack() as opened:
        stores = {}
        for worker in workers:
            stores[worker] = LocalDirectory(directory).open_store(worker, read_only=True)
            opened.callback(stores[worker].close)
        yield stores


def kept_state(
    directory: Path, manifest: Manifest, operators: Collection[str]
) -> dict[str, list[IncrementalSnapshot]]:
    """Return the incremental snapshots of some operators, oldest first.

    Raises:
        DamagedSegmentError: if one cannot be read.
        StateStoreError: if a store cannot be opened.
    """
    wanted = [segment for segment in manifest.segments if segment.operator in operators]
    state: dict[str, list[IncrementalSnapshot]] = {}
    with open_stores(directory, wanted) as stores:
        for segment in wanted:
            rows = rows_of_bins(read_segment(segment, stores[segment.worker]), segment.bins)
            state.setdefault(segment.operator, []).append(rows)
    return state
