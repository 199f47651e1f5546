"""A graph tick: the state of a drained job becomes that of a changed plan.

The previous run has ended at a committed position T: outputs have exactly the rows below it.  A new manifest,
as of T and for the new plan, names the state of the operators that are kept.  The change takes effect by the
commit of that manifest: a failure before it leaves the old plan, one after it the new plan.  The new
description and ends of splits are written next to the old files first (`*.next`), and replace them at the
next start of the job.

The ordinals of tables are kept by name, because they are part of root positions; so rows of tables that are
kept keep their positions, and the splits of these tables are unchanged.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.job.compilation import compile_job
from fsql.job.coordination import coordination_error, job_coordination, state_coordination
from fsql.job.description import (
    FORMAT,
    FORMAT_OF_DIFFERENCES,
    JOB,
    StoredDifferences,
    parse_description,
    plan_digest,
)
from fsql.job.difference_files import (
    read_difference,
    remove_differences,
    write_difference,
)
from fsql.job.file_uses import FileUses
from fsql.job.graph_diff import (
    StateChange,
    StateEffect,
    check_change,
    check_consistent,
    compare,
    inconsistent_error,
    unreleased,
)
from fsql.job.kept_state import kept_state
from fsql.job.planning import choose_plan
from fsql.job.result_differences import ResultDifferences, RowFailsError
from fsql.job.sinks import output_names
from fsql.runtime.batch import START
from fsql.runtime.cluster.snapshots.epoch_snapshots import first_number
from fsql.runtime.coordination.commits import read_committed
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.coordination.snapshot_requests import newest_answer
from fsql.runtime.drivers.processes.job_state import open_job_state
from fsql.runtime.hosts.split_ends import renumbered_ends
from fsql.runtime.state.loading import DamagedSegmentError
from fsql.runtime.state.local_directory import LocalDirectory, local_snapshots, sync_directory
from fsql.runtime.state.snapshots import DamagedSnapshotError, SnapshotNotWrittenError
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from fsql.job.compilation import Compiled
    from fsql.job.description import JobDescription
    from fsql.job.graph_diff import GraphDiff
    from fsql.runtime.batch import Batch
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.hosts.job_state import JobState
    from fsql.runtime.hosts.ports import Steps

_Result = TypeVar("_Result")

_NEXT: Final = ".next"
_ENDS: Final = "ends"
_LEASE_WAIT_SECONDS: Final = 10.0
_LEASE_POLL_SECONDS: Final = 0.1


def frozen_ordinals(begun: JobDescription) -> dict[str, int]:
    """Return the ordinals of the current and former tables of a job, by name."""
    if begun.ordinals:
        return begun.ordinals
    return {table.name: table.ordinal for table in compile_job(begun.script()).job.tables}


def with_ordinals(compiled: Compiled, ordinals: Mapping[str, int]) -> Compiled:
    """Return a script compiled with the ordinals that tables of its job had before."""
    return compile_job(replace(compiled.script, ordinals=dict(ordinals), plan_digest=None))


def complete_change(state: Path) -> None:
    """Complete a change of the plan that was committed, or discard one that was not.

    Raises:
        FsqlError: E614, if the state directory cannot be read.
    """
    following = state / f"{JOB}{_NEXT}"
    if not following.exists():
        return
    description = parse_description(following.read_bytes())
    manifest = newest_manifest(state)
    ends = state / f"{_ENDS}{_NEXT}"
    if manifest is not None and manifest.graph == description.plan:
        if ends.exists():
            ends.replace(state / _ENDS)
        following.replace(state / JOB)
    else:
        ends.unlink(missing_ok=True)
        following.unlink()
    sync_directory(state)
    remove_differences(state, _files_of(parse_description((state / JOB).read_bytes())))


def _files_of(description: JobDescription) -> set[str]:
    stored = description.differences
    return set() if stored is None else set(stored.files.values())


def newest_manifest(state: Path) -> Manifest | None:
    """Return the newest committed manifest of a state directory, None if there is none.

    Raises:
        FsqlError: E614, if it cannot be read.
    """
    try:
        coordination = state_coordination(state, read_only=True)
        try:
            newest = read_committed(coordination)
        finally:
            coordination.close()
        return None if newest is None else local_snapshots(state).read(newest.snapshot, newest)
    except CoordinationError as error:
        raise coordination_error(state, error) from None
    except (DamagedSnapshotError, OSError) as error:
        raise FsqlError([Diagnostic("E614", f'"{state}" cannot be read: {error}')]) from None


def change_plan(
    state: Path,
    begun: JobDescription,
    compiled: Compiled,
    new: JobDescription,
    change: StateChange,
    *,
    allow_inconsistent: bool = False,
) -> None:
    """Convert the state of a drained job, whose processes have ended, to a changed plan.

    `compiled` is the new script with the ordinals of the job, `new` describes it as a job that begins now.
    With `allow_inconsistent`, changes of outputs need not add up.

    Raises:
        FsqlError: E638, if the change is refused, or the job was not drained; E614, E621.
    """
    old = compile_job(begun.script())
    here = msgspec.structs.replace(begun, state=str(state))  # the directory may have been moved
    job_state = open_job_state(state, "graph tick", {}, coordination=job_coordination(here, None))
    try:
        take_lease(job_state, state)
        epoch, manifest = run_steps(job_state.take_epoch())
        _check_drained(state, manifest)
        diff = compare(old.job, compiled.job, change, manifest, begun)
        check_change(diff, old.job, compiled.job, change)
        assert manifest is not None
        if not allow_inconsistent:
            check_consistent(diff)
        following = _description(begun, new, compiled, old, manifest, change)
        rows = result_differences(
            state, manifest, diff, begun, allow_inconsistent=allow_inconsistent
        )
        following = _with_differences(following, state, manifest, diff, rows)
        fronts = _renumber(begun, old, following, compiled)
        changed = _manifest(manifest, diff, following, fronts, epoch, change)
        _write_next(state, following, fronts)
        for number in (first_number(epoch), first_number(epoch) + 1):
            # Twice, so that the previous manifest is of the new plan, too, if the newest is damaged one day.
            run_steps(job_state.commit(msgspec.structs.replace(changed, snapshot=number)))
    except (CoordinationError, SnapshotNotWrittenError, StateStoreError, OSError) as error:
        message = f'the state directory "{state}" cannot be used: {error}'
        raise FsqlError([Diagnostic("E621", message)]) from None
    finally:
        job_state.close()
    complete_change(state)
    _remove_journals(state, old, compiled)


def take_lease(job_state: JobState, state: Path, seconds: float = _LEASE_WAIT_SECONDS) -> None:
    """Acquire the lease, so that no other coordinator can write; wait for it up to `seconds`.

    Raises:
        FsqlError: E621, if another coordinator holds it.
    """
    for _ in range(round(seconds / _LEASE_POLL_SECONDS)):
        if run_steps(job_state.renew_lease()) is not None:
            return
        time.sleep(_LEASE_POLL_SECONDS)
    message = f'the state directory "{state}" cannot be used: a coordinator of the job still runs'
    raise FsqlError([Diagnostic("E621", message)])


def _check_drained(state: Path, manifest: Manifest | None) -> None:
    coordination = state_coordination(state, read_only=True)
    try:
        answer = newest_answer(coordination)
    finally:
        coordination.close()
    if manifest is None or answer is None or answer.snapshot != manifest.snapshot:
        message = "the job was not stopped at a committed position before its plan is changed"
        helps = ("deploy the new plan again, while the job runs",)
        raise FsqlError([Diagnostic("E638", message, helps=helps)])


def _description(
    begun: JobDescription,
    new: JobDescription,
    compiled: Compiled,
    old: Compiled,
    manifest: Manifest,
    change: StateChange,
) -> JobDescription:
    ordinals = frozen_ordinals(begun) | {t.name: t.ordinal for t in compiled.job.tables}
    kept = {table.ordinal for table in old.job.tables} & {t.ordinal for t in compiled.job.tables}
    since = {} if change is StateChange.REBUILD else _since(begun, compiled, old, manifest)
    return msgspec.structs.replace(
        new,
        job=begun.job,
        plan=plan_digest(compiled),
        splits=new.splits | {ordinal: begun.splits[ordinal] for ordinal in kept},
        ordinals=ordinals,
        since=since,
        replayed=_replayed(begun, old, manifest, kept, change),
        differences=None,
        dropped_columns=_dropped_columns(begun, old, compiled),
        format=FORMAT,
    )


def _replayed(
    begun: JobDescription,
    old: Compiled,
    manifest: Manifest,
    kept: Collection[int],
    change: StateChange,
) -> dict[int, tuple[int, ...]]:
    """Return how many rows of the splits of each table with a rate are replayed as fast as they are read."""
    before = {ordinal: rows for ordinal, rows in begun.replayed.items() if ordinal in kept}
    if change is not StateChange.REBUILD:
        return before
    read = {point.front: point.source_offset.row for point in manifest.fronts}
    fronts = choose_plan(old, begun.splits, begun.options()).fronts(begun.splits)  # type: ignore[arg-type]
    rated = {table.ordinal for table in old.job.tables if dict(table.options).get("rate")}
    rows = {
        ordinal: list(before.get(ordinal, [0] * len(begun.splits[ordinal])))
        for ordinal in sorted(rated & set(kept))
    }
    for task in fronts:
        if task.ordinal in rows:
            known = rows[task.ordinal][task.split]
            rows[task.ordinal][task.split] = max(known, read.get(task.number, 0))
    return {ordinal: tuple(each) for ordinal, each in rows.items()}


def _dropped_columns(
    begun: JobDescription, old: Compiled, new: Compiled
) -> dict[str, tuple[str, ...]]:
    """Return the columns that outputs had once, by output."""
    columns = {
        insert.sink.name: {column.name for column in insert.sink.columns}
        for insert in old.job.inserts
    }
    found = {}
    for insert in new.job.inserts:
        sink = insert.sink
        if sink.name in columns:
            had = columns[sink.name].union(begun.dropped_columns.get(sink.name, ()))
            found[sink.name] = tuple(sorted(had - {column.name for column in sink.columns}))
    return {name: dropped for name, dropped in found.items() if dropped}


def _since(
    begun: JobDescription, compiled: Compiled, old: Compiled, manifest: Manifest
) -> dict[str, tuple[int, int]]:
    """Return the positions from which added outputs exist, by their names."""
    known = output_names(old)
    return {
        name: begun.since.get(name, (START.time, START.origin))
        if name in known
        else manifest.position
        for name in output_names(compiled)
    }


def _with_differences(
    following: JobDescription,
    state: Path,
    manifest: Manifest,
    diff: GraphDiff,
    rows: Mapping[str, Batch],
) -> JobDescription:
    """Return the description with what outputs get at the position of the change, stored in files."""
    if not rows:
        return following
    files = {name: write_difference(state, batch) for name, batch in rows.items()}
    rebuilt = any(each.rebuilt for each in diff.differences)
    return msgspec.structs.replace(
        following,
        differences=StoredDifferences(manifest.position, files, rebuilt),
        format=FORMAT_OF_DIFFERENCES,
    )


def result_differences(
    state: Path,
    manifest: Manifest,
    diff: GraphDiff,
    begun: JobDescription,
    *,
    allow_inconsistent: bool = False,
) -> dict[str, Batch]:
    """Return the rows that outputs get at the position of a manifest when the plan is changed, by output.

    `begun` is the description of the job as it is.  If it begins at this position, too, what its outputs get
    there is not released yet, and comes first.

    Raises:
        FsqlError: E638, if a row of a result fails, unless `allow_inconsistent`; E614, if the state is
            damaged.
        StateStoreError: if the state cannot be read.
    """
    operators = frozenset[str]().union(*(each.operators for each in diff.differences))
    try:
        kept = ResultDifferences(kept_state(state, manifest, operators), manifest.root)
    except DamagedSegmentError as error:
        raise FsqlError([Diagnostic("E614", f'"{state}" cannot be read: {error}')]) from None
    found = {
        name: read_difference(state, file, manifest.root)
        for name, file in unreleased(begun, manifest).items()
        if name in diff.outputs_kept
    }
    for difference in diff.differences:
        before = found.pop(difference.output, None)
        if difference.reason is not None:
            continue
        try:
            rows = kept.rows(difference, before)
        except RowFailsError as error:
            if not allow_inconsistent:
                raise inconsistent_error(difference.output, str(error)) from None
        else:
            if len(rows) or difference.rebuilt:
                found[difference.output] = rows
    return found


def _renumber(
    begun: JobDescription, old: Compiled, following: JobDescription, new: Compiled
) -> dict[int, int]:
    """Return the new numbers of the fronts that are kept, by their old numbers."""
    numbers = {}
    for description, compiled in ((begun, old), (following, new)):
        splits = description.splits
        tasks = choose_plan(compiled, splits, description.options()).fronts(splits)  # type: ignore[arg-type]
        numbers[description.plan] = {
            (task.ordinal, splits[task.ordinal][task.split]): task.number for task in tasks
        }
    before, after = numbers[begun.plan], numbers[following.plan]
    return {number: after[split] for split, number in before.items() if split in after}


def _manifest(
    manifest: Manifest,
    diff: GraphDiff,
    following: JobDescription,
    fronts: Mapping[int, int],
    epoch: int,
    change: StateChange,
) -> Manifest:
    """Return the manifest of the new plan: the same position, or the beginning if all is rebuilt.

    The new plan begins with the choices of the optimizer.
    """
    if change is StateChange.REBUILD:
        return msgspec.structs.replace(
            manifest,
            epoch=epoch,
            position=(START.time, START.origin),
            segments=(),
            fronts=(),
            skipped=(),
            graph=following.plan,
            choices=NO_CHOICES,
            rows_left=(),
        )
    kept = {each.operator for each in diff.operators_with(StateEffect.KEPT)}
    points = [
        msgspec.structs.replace(point, front=fronts[point.front])
        for point in manifest.fronts
        if point.front in fronts
    ]
    return msgspec.structs.replace(
        manifest,
        epoch=epoch,
        segments=tuple(segment for segment in manifest.segments if segment.operator in kept),
        fronts=tuple(sorted(points, key=lambda point: point.front)),
        skipped=tuple(
            msgspec.structs.replace(each, front=fronts[each.front])
            for each in manifest.skipped
            if each.front in fronts
        ),
        graph=following.plan,
        choices=NO_CHOICES,
        rows_left=(),
    )


def _write_next(state: Path, following: JobDescription, fronts: Mapping[int, int]) -> None:
    """Write the new description and ends of splits next to the files of the old plan."""
    directory = LocalDirectory(state)
    ends = renumbered_ends(directory, fronts)
    for name, data in ((_ENDS, ends), (JOB, msgspec.json.encode(following))):
        path = f"{name}{_NEXT}"
        directory.remove(path)
        directory.append(path, data)
        directory.sync(path)
    directory.sync("")


def _remove_journals(state: Path, old: Compiled, new: Compiled) -> None:
    """Remove the journals of outputs that no longer exist; if one is added again, it begins empty."""
    for journal in FileUses(old).journals - FileUses(new).journals:
        for path in (state / "positions").glob(f"{journal}.*"):
            path.unlink(missing_ok=True)


def run_steps(steps: Steps[_Result]) -> _Result:
    """Carry out steps one after the other; return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
