"""What is kept on the disk of the cluster: records of state, and manifests.

A record is an increment in Arrow's stream format, with a hash over it; a manifest is its own bytes under the
number of its snapshot.  Both are written under a name of their own, synced, and then given their name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import xxhash

from fsql.runtime.kernels.increment import Increment
from fsql.runtime.protocol.manifest import (
    DamagedManifestError,
    Manifest,
    Record,
    manifest_bytes,
    manifest_of,
)

if TYPE_CHECKING:
    from fsql.runtime.simulation.disk import Disk


class DamagedStateError(Exception):
    """A record is missing, or not what was stored."""


def store_record(
    disk: Disk, worker: int, snapshot: int, place: str, operator: str, increment: Increment
) -> Record:
    """Store an increment for good; `place` makes its key different from all others.

    Raises:
        OSError: if the disk fails.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, increment.rows.schema) as writer:
        writer.write_batch(increment.rows)
    marks = f"{increment.keys} {int(increment.appends)}\n".encode()
    content = marks + sink.getvalue().to_pybytes()
    key = f"worker-{worker}/{snapshot}-{place}"
    _write(disk, key, content)
    digest = xxhash.xxh3_128_hexdigest(content)
    rows = increment.rows.num_rows
    return Record(worker, key, operator, snapshot, 0, rows, len(content), digest)


def load_record(disk: Disk, record: Record) -> Increment:
    """Return a stored increment.

    Raises:
        DamagedStateError: if it is not there as it was stored.
    """
    try:
        content = disk.read(record.key)
    except OSError as error:
        raise DamagedStateError(f"record {record.key}: {error.strerror}") from None
    if len(content) != record.size or xxhash.xxh3_128_hexdigest(content) != record.hash:
        raise DamagedStateError(f"record {record.key}: its hash does not fit")
    marks, _, rows = content.partition(b"\n")
    keys, appends = marks.split()
    [batch] = pa.ipc.open_stream(rows).read_all().to_batches() or [None]
    if batch is None:
        batch = pa.RecordBatch.from_pylist([], pa.ipc.open_stream(rows).schema)
    return Increment(batch, int(keys), appends == b"1")


def store_manifest(disk: Disk, manifest: Manifest) -> str:
    """Store a manifest for good; return its digest.

    Raises:
        OSError: if the disk fails.
    """
    content = manifest_bytes(manifest)
    _write(disk, manifest_path(manifest.snapshot), content)
    return xxhash.xxh3_128_hexdigest(content)


def load_manifest(disk: Disk, snapshot: int, digest: str) -> Manifest:
    """Return a committed manifest of which every record is there.

    Raises:
        DamagedStateError: if it is not what was committed, or a record is not what was stored.
    """
    try:
        content = disk.read(manifest_path(snapshot))
    except OSError as error:
        raise DamagedStateError(f"manifest {snapshot}: {error.strerror}") from None
    if xxhash.xxh3_128_hexdigest(content) != digest:
        raise DamagedStateError(f"manifest {snapshot}: it is not the one that was committed")
    try:
        manifest = manifest_of(content)
    except DamagedManifestError as error:
        raise DamagedStateError(f"manifest {snapshot}: {error}") from None
    for record in manifest.records:
        load_record(disk, record)
    return manifest


def manifest_path(snapshot: int) -> str:
    """Return the name of a manifest's file."""
    return f"snapshots/{snapshot}"


def _write(disk: Disk, path: str, content: bytes) -> None:
    unfinished = f"{path}.unfinished"
    disk.write(unfinished, content)
    disk.sync(unfinished)
    disk.rename(unfinished, path)
    disk.sync(path)
