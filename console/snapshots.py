"""`fsql snapshot`: the snapshots of a state directory, and whether they can be read."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.numbers import bytes_text, count_text
from fsql.compiler.records import dataclass
from fsql.job.coordination import coordination_error, is_in_zookeeper, state_coordination
from fsql.job.difference_files import read_difference
from fsql.job.state_directory import read_description
from fsql.runtime.coordination.commits import read_committed
from fsql.runtime.coordination.embedded import FILE
from fsql.runtime.coordination.port import (
    CoordinationRefusedError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
)
from fsql.runtime.coordination.zookeeper.address import CREDENTIALS_VARIABLE
from fsql.runtime.state.local_directory import local_snapshots, worker_directory
from fsql.runtime.state.rocks import check_store
from fsql.runtime.state.salvage import salvage
from fsql.runtime.state.snapshots import (
    DamagedSnapshotError,
    OtherFormatSnapshotError,
    Snapshots,
    TooLargeSnapshotError,
)
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.coordination.commits import Committed

_ANEW = "restore the directory from a backup, or start with an empty one: all input is read again"
_TITLES = ("snapshot", "epoch", "workers", "segments", "rows", "size", "position", "")


class DamagedFileError(DamagedSnapshotError):
    """All state segments of a snapshot are intact, but a file of a store that has some of them is damaged."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """A snapshot: its manifest if it can be read, its status, and its damage."""

    number: int
    status: str
    manifest: Manifest | None
    error: DamagedSnapshotError | None

    @property
    def restorable(self) -> bool:
        """Return whether a job can be restored from the snapshot, as far as was checked."""
        harmless = self.error is None or isinstance(self.error, DamagedFileError)
        return harmless and self.status != "not committed"


def inspect(state: Path, *, verify: bool) -> tuple[Inspected, ...]:
    """Return the snapshots in a state directory, newest first; with `verify` every state segment is read.

    Raises:
        FsqlError: E614, E615.
    """
    try:
        newest = _newest(state)
        snapshots = local_snapshots(state)
        stores = _StoreChecks(state) if verify else None
        numbers = set(snapshots.numbers()) | ({newest.snapshot} if newest else set())
        return tuple(
            _inspect(snapshots, number, newest, stores) for number in sorted(numbers, reverse=True)
        )
    except DamagedCoordinationError as error:
        raise FsqlError([Diagnostic("E615", str(error), helps=(_ANEW,))]) from None
    except CoordinationRefusedError as error:
        helps = (f"set {CREDENTIALS_VARIABLE}",)
        raise FsqlError([Diagnostic("E643", str(error), helps=helps)]) from None
    except CoordinationUnavailableError as error:
        raise coordination_error(state, error) from None
    except OSError as error:
        message = f'"{error.filename}" cannot be read: {error.strerror}'
        raise FsqlError([Diagnostic("E614", message)]) from None


def _newest(state: Path) -> Committed | None:
    """Return the snapshot recorded in coordination."""
    has_state = {FILE, "snapshots"} & {path.name for path in state.iterdir()}
    if not has_state and not is_in_zookeeper(state):
        raise FsqlError([Diagnostic("E614", f'directory "{state}" holds no state of a job')])
    with closing(state_coordination(state, read_only=True)) as coordination:
        return read_committed(coordination)


class _StoreChecks:
    """Checks that workers can continue to write the stores that snapshots need, each store once."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._found: dict[int, StateStoreError | None] = {}

    def check(self, snapshots: Snapshots, manifest: Manifest) -> None:
        """Check the stores of a snapshot.

        Raises:
            DamagedFileError: if a file of a store is damaged, even if no state segment is affected.
        """
        first = {segment.worker: segment for segment in reversed(manifest.segments)}
        for worker, segment in sorted(first.items()):
            error = self._error(worker)
            if error is not None:
                number, path = manifest.snapshot, snapshots.path(manifest.snapshot)
                raise DamagedFileError(number, path, str(error), segment)
        _check_differences(self._state, snapshots, manifest)

    def _error(self, worker: int) -> StateStoreError | None:
        if worker not in self._found:
            self._found[worker] = None
            try:
                check_store(worker_directory(self._state, worker))
            except StateStoreError as error:
                self._found[worker] = error
        return self._found[worker]


def _check_differences(state: Path, snapshots: Snapshots, manifest: Manifest) -> None:
    """Check the files with what outputs get where a snapshot begins, if the plan was changed there.

    Raises:
        DamagedSnapshotError: if one is missing or damaged.
    """
    description = read_description(state)
    stored = None if description is None else description.differences
    if stored is None or not stored.begins_at(manifest.root):
        return
    for digest in stored.files.values():
        try:
            read_difference(state, digest, manifest.root)
        except FsqlError as error:
            number, path = manifest.snapshot, snapshots.path(manifest.snapshot)
            raise DamagedSnapshotError(number, path, error.diagnostics[0].message) from None


def _inspect(
    snapshots: Snapshots, number: int, newest: Committed | None, stores: _StoreChecks | None
) -> Inspected:
    status = "older"
    if newest is None or number > newest.snapshot:
        status = "not committed"
    elif number == newest.snapshot:
        status = "newest"
    manifest = None
    try:
        manifest = snapshots.read(number, newest)
        if stores is not None:
            snapshots.verify(manifest, load=True)
            stores.check(snapshots, manifest)
    except DamagedSnapshotError as error:
        return Inspected(number, status, manifest, error)
    return Inspected(number, status, manifest, None)


def damage_diagnostics(
    found: Sequence[Inspected], state: Path, *, verified: bool
) -> list[Diagnostic]:
    """Return a diagnostic for each damaged snapshot, with its fix."""
    if not verified:
        remedy = f"see what can be restored: fsql snapshot verify --state {state}"
    else:
        usable = next((each.number for each in found if each.restorable), None)
        if usable is not None:
            remedy = f"start the job: it resumes from snapshot {usable}"
        elif any(each.error is not None and each.error.segment is not None for each in found):
            remedy = f"then see what can be restored: fsql snapshot verify --state {state}"
        else:
            remedy = _ANEW
    return [
        _damage_diagnostic(each.error, state, remedy) for each in found if each.error is not None
    ]


def _damage_diagnostic(error: DamagedSnapshotError, state: Path, remedy: str) -> Diagnostic:
    manifest = f"manifest: {error.path}"
    if isinstance(error, OtherFormatSnapshotError):
        message = f"snapshot {error.snapshot} is of another format: {error.reason}"
        return Diagnostic(
            "E613", message, None, (), (manifest,), ("use the version that wrote it",)
        )
    if isinstance(error, TooLargeSnapshotError):
        message = (
            f"snapshot {error.snapshot} cannot be loaded by this number of workers: {error.reason}"
        )
        return Diagnostic("E616", message, None, (), (manifest,), (CODES["E616"].fix,))
    if error.segment is None:
        message = f"snapshot {error.snapshot} is damaged: {error.reason}"
        return Diagnostic("E611", message, None, (), (manifest,), (remedy,))
    segment = error.segment
    message = f"snapshot {error.snapshot} is damaged: {error.reason}"
    if isinstance(error, DamagedFileError):
        message = f"a file of snapshot {error.snapshot} is damaged: {error.reason}"
    store = f"store: {worker_directory(state, segment.worker)}"
    notes = (manifest, store, f"operator: {segment.operator}")
    if isinstance(error, DamagedFileError):
        notes = (manifest, store, "all of its state segments are intact")
    first = f"first replace the damaged store: fsql snapshot salvage --state {state}"
    return Diagnostic("E612", message, None, (), notes, (first, remedy))


class Replaced(NamedTuple):
    """A store that was replaced: the number of the named state segments that the new one has."""

    worker: int
    whole: int
    named: int
    damaged: Path


class Salvage(NamedTuple):
    """What was salvaged: the stores that were replaced, and the snapshot that can be restored now, if any."""

    replaced: list[Replaced]
    snapshot: int | None


def salvage_stores(state: Path) -> Salvage:
    """Salvage the stores that have damaged state segments or files.

    Raises:
        FsqlError: E612, if a store cannot be salvaged, for example because the job is running; E614, E615.
    """
    found = inspect(state, verify=True)
    errors = [each.error for each in found if each.error is not None]
    snapshots = local_snapshots(state)
    replaced = []
    for worker in sorted({error.segment.worker for error in errors if error.segment is not None}):
        named = snapshots.referenced_keys(worker)
        try:
            result = salvage(state, worker, named)
        except (StateStoreError, OSError) as error:
            message = f"the store of worker {worker} cannot be salvaged: {error}"
            raise FsqlError([Diagnostic("E612", message)]) from None
        replaced.append(Replaced(worker, len(result.keys), len(named), result.damaged))
    if replaced:
        found = inspect(state, verify=True)
    return Salvage(replaced, next((each.number for each in found if each.restorable), None))


def salvaged_text(salvage: Salvage) -> str:
    """Return a line for each store that was replaced, and what the job can do then."""
    if not salvage.replaced:
        return "no store is damaged\n"
    lines = [
        f"worker {each.worker}: {each.whole} of {each.named} state segments are intact;"
        f" damaged: {each.damaged}\n"
        for each in salvage.replaced
    ]
    if salvage.snapshot is None:
        lines.append(f"no snapshot can be restored: {_ANEW}\n")
    else:
        lines.append(f"start the job: it resumes from snapshot {salvage.snapshot}\n")
    return "".join(lines)


def salvaged_json(salvage: Salvage) -> str:
    """Return the stores that were replaced as one JSON object."""
    stores = [{**each._asdict(), "damaged": str(each.damaged)} for each in salvage.replaced]
    return json.dumps({"replaced": stores, "snapshot": salvage.snapshot}) + "\n"


def snapshots_text(found: Sequence[Inspected], *, verified: bool) -> str:
    """Return a header line and a line for each snapshot."""
    if not found:
        return "no snapshots\n"
    lines = [_TITLES, *(_line(each, verified=verified) for each in found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_TITLES) - 1)]
    return "".join(
        "  ".join(
            [*(f"{text:>{width}}" for text, width in zip(line, widths, strict=False)), line[-1]]
        ).rstrip()
        + "\n"
        for line in lines
    )


def _line(each: Inspected, *, verified: bool) -> tuple[str, ...]:
    words = [] if each.status == "older" else [each.status]
    words += ["damaged"] if each.error else ["verified"] if verified else []
    if each.manifest is None:
        return (str(each.number), *("?" for _ in _TITLES[1:-1]), ", ".join(words))
    segments = each.manifest.segments
    return (
        str(each.number),
        str(each.manifest.epoch),
        str(each.manifest.workers),
        count_text(len(segments)),
        count_text(sum(segment.rows for segment in segments)),
        bytes_text(sum(segment.size for segment in segments)),
        "/".join(str(part) for part in each.manifest.position),
        ", ".join(words),
    )


def snapshots_json(found: Sequence[Inspected], *, verified: bool) -> str:
    """Return the snapshots as one JSON object."""
    return json.dumps({"verified": verified, "snapshots": [_json(each) for each in found]}) + "\n"


def _json(each: Inspected) -> dict[str, object]:
    fields: dict[str, object] = {
        "snapshot": each.number,
        "status": each.status,
        "ok": each.error is None,
        "reason": None if each.error is None else each.error.reason,
    }
    if each.manifest is not None:
        segments = each.manifest.segments
        fields |= {
            "job": each.manifest.job,
            "epoch": each.manifest.epoch,
            "position": each.manifest.position,
            "workers": each.manifest.workers,
            "segments": len(segments),
            "rows": sum(segment.rows for segment in segments),
            "bytes": sum(segment.size for segment in segments),
        }
    return fields
