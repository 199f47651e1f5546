"""The state directory, which belongs to one job and is used by one run at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.job.description import JOB, parse_description
from fsql.runtime.coordination.zookeeper.address import parse_address
from fsql.runtime.state.local_directory import sync_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.job.description import JobDescription
    from fsql.job.script import Script

FINISHED = "over"


@contextmanager
def state_directory(wanted: Path | None) -> Iterator[Path]:
    """Create the state directory and lock it for this run; remove a temporary one at the end.

    A new one is accessible to its owner only: it contains data of the job's input.

    Raises:
        FsqlError: E621, if it cannot be used, or another run uses it.
    """
    if wanted is None:
        path = Path(tempfile.mkdtemp(prefix="fsql-"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
        return
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(wanted / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _no_state(wanted, (error.strerror or str(error)).lower()) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield wanted.resolve()
    except BlockingIOError:
        helps = ("wait for that run, or end it", "or name another directory")
        raise _no_state(wanted, "another run uses it", *helps) from None
    finally:
        os.close(lock)


@contextmanager
def deletion_check(state: Path) -> Iterator[Callable[[], None]]:
    """Return a function that raises E621 if the state directory of a job has been deleted since.

    Raises:
        FsqlError: E621, if it is deleted now.
    """

    def check() -> None:
        if os.fstat(description).st_nlink == 0:
            raise _deletion_error(state)

    try:
        description = os.open(state / JOB, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _deletion_error(state) from None
    try:
        yield check
    finally:
        os.close(description)


def _deletion_error(state: Path) -> FsqlError:
    helps = ("restore a copy of a snapshot: fsql snapshot restore COPY --state DIRECTORY",)
    return _no_state(state, "it was deleted while the job was running", *helps)


def resume_or_create(state: Path, new: JobDescription) -> JobDescription:
    """Return the description of a job, with the parts of its first start that never change; store it.

    Raises:
        FsqlError: E621, if it cannot be written; E621 to E623, if the state is that of another job or of
            an unknown one.
    """
    path = state / JOB
    if path.exists():
        begun = parse_description(path.read_bytes())
        _check_same(state, begun, new)
        _check_same_coordination(state, begun, new)
        new = msgspec.structs.replace(
            new,
            job=begun.job,
            plan=begun.plan,
            splits=begun.splits,
            ordinals=begun.ordinals,
            since=begun.since,
            first=begun.first,
            replayed=begun.replayed,
            differences=begun.differences,
            dropped_columns=begun.dropped_columns,
            format=begun.format,
        )
    elif (state / "snapshots").exists():
        helps = ("restore it from a backup", "or name another directory")
        raise _no_state(state, f'it has snapshots but no "{path.name}"', *helps)
    with _no_state_if_refused(state):
        draft = path.with_suffix(".partial")
        draft.unlink(missing_ok=True)
        with open(draft, "xb", opener=_private) as file:
            file.write(msgspec.json.encode(new))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(state)
    return new


def read_description(state: Path) -> JobDescription | None:
    """Return the description of the job in a state directory; None if there is none yet.

    Raises:
        FsqlError: E621, if it cannot be read; E623, if it is damaged or of another version.
    """
    try:
        return parse_description((state / JOB).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _no_state(state, (error.strerror or str(error)).lower()) from None


def with_begun_columns(script: Script, state: Path | None) -> Script:
    """Return a script with the columns that were inferred when the job of the state directory began.

    Raises:
        FsqlError: E621 or E623, if the state directory cannot be read.
    """
    begun = None if state is None else read_description(state)
    if begun is None or begun.script_text != script.source.text:
        return script
    return replace(script, columns=begun.columns)


@contextmanager
def _no_state_if_refused(state: Path) -> Iterator[None]:
    """Raise E621 if the operating system refuses to write in the state directory."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        helps = ("free space on its disk, or correct the permissions", "or name another directory")
        raise _no_state(state, reason, *helps) from None


def _private(path: str, flags: int) -> int:
    """Open a file like `open`; a new file is accessible to its owner only."""
    return os.open(path, flags, 0o600)


def record_finished(state: Path) -> None:
    """Record that the job has finished.

    Raises:
        FsqlError: E621, if that cannot be written.
    """
    with _no_state_if_refused(state):
        (state / FINISHED).touch(0o600)


def is_finished(state: Path) -> bool:
    """Return whether the job has finished."""
    return (state / FINISHED).exists()


def _check_same(state: Path, begun: JobDescription, new: JobDescription) -> None:
    """Check that the state belongs to the job: that both have the same plan.

    The plan has neither comments nor names of files.  If plans differ although script and parameters are the
    same, another version of fsql has compiled the first; this is refused when the job is compiled (E623).

    Raises:
        FsqlError: E622, if it is not; E608, if a module with functions has changed.
    """
    notes: tuple[str, ...]
    for name, digest in sorted(begun.modules.items()):
        if new.modules.get(name, digest) != digest:
            message = (
                f'module "{name}" is not the one that the state directory "{state}" was made with'
            )
            helps = ("restore the module, or use another state directory",)
            raise FsqlError([Diagnostic("E608", message, helps=helps)])
    if begun.plan == new.plan:
        return
    if begun.script_text != new.script_text:
        what = "another job"
        notes = (f"the job was started with {begun.script_path or begun.script_name}",)
    elif begun.parameters != new.parameters:
        names = sorted(begun.parameters.keys() | new.parameters.keys())
        what = "a job with other parameters"
        notes = tuple(
            f"{name} was {_value_text(begun, name)}, and is now {_value_text(new, name)}"
            for name in names
            if begun.parameters.get(name) != new.parameters.get(name)
        )
    else:
        return
    message = f'the state directory "{state}" is of {what}'
    helps = ("use another state directory, or run the job that this one belongs to",)
    raise FsqlError([Diagnostic("E622", message, notes=notes, helps=helps)])


def _check_same_coordination(state: Path, begun: JobDescription, new: JobDescription) -> None:
    """Check that the coordination of a job has not changed: no other one knows its snapshots.

    The servers of an ensemble may change.

    Raises:
        FsqlError: E621, if it is not.
    """
    if _path_of(begun) == _path_of(new):
        return
    if begun.coordination is None:
        what, helps = "in this directory", ("run it without --coordination",)
    else:
        what, helps = (
            f"by {begun.coordination}",
            (f"run it with --coordination {begun.coordination}",),
        )
    raise _no_state(state, f"its job is coordinated {what}", *helps, "or name another directory")


def _path_of(description: JobDescription) -> str | None:
    text = description.coordination
    return None if text is None else parse_address(text).path


def _value_text(description: JobDescription, name: str) -> str:
    value = description.parameters.get(name)
    return "not given" if value is None else f'"{value}"'


def _no_state(path: Path, reason: str, *helps: str) -> FsqlError:
    message = f'the state directory "{path}" cannot be used: {reason}'
    return FsqlError([Diagnostic("E621", message, helps=helps)])
