"""`fsql run` on several processes: from the script to the summary and the exit code."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.codes import CODES
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.console import exit_codes, summary
from fsql.console.compiled import compiled
from fsql.console.description import JobDescription, description_of, readied, split_names
from fsql.console.interrupt import Interrupt, Interrupted
from fsql.console.job import open_splits
from fsql.console.outputs import check_outputs
from fsql.console.progress import progress_of
from fsql.console.stop import stop_error
from fsql.console.talk import say
from fsql.runtime.batch import Root
from fsql.runtime.connectors.live_splits import needs_front_log, open_feed
from fsql.runtime.connectors.stream_stores import StreamStore
from fsql.runtime.connectors.tcp_reference import ConsumerServer
from fsql.runtime.drivers.cluster_key import cluster_key
from fsql.runtime.drivers.local import Counters
from fsql.runtime.drivers.processes.diagnostics import error_of
from fsql.runtime.drivers.processes.launcher import GivenUpError, Launcher
from fsql.runtime.ports import Reject
from fsql.runtime.protocol.barrier import Stopped
from fsql.runtime.state.snapshots import synced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.console.compiled import Compiled
    from fsql.console.description import Readied
    from fsql.console.job import RunOptions
    from fsql.console.progress import Progress
    from fsql.console.script import Script
    from fsql.console.talk import Talk
    from fsql.runtime.drivers.processes.lines import Course, Over

_SERVE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How a job is run on processes.

    `state` is the directory that outlives the run, None for one that does not; `listen` the address of the
    coordinator, None for any; `joining` how many of the workers are started by hand.
    """

    state: Path | None = None
    snapshot_every: float | None = 1.0
    delivery: str | None = None
    listen: str | None = None
    joining: int = 0


def run_on_processes(
    script: Script, options: RunOptions, cluster: ClusterOptions, talk: Talk
) -> int:
    """Run a script; say how it goes; return the exit code.

    Raises:
        FsqlError: what is wrong with the script, a file that it names, or the state directory.
    """
    result = compiled(script)
    with ExitStack() as stack:
        state = stack.enter_context(_state_directory(cluster.state))
        job = readied(_described(result, options, cluster, state))
        check_outputs(job.compiled, job.splits)
        stdout = stack.enter_context(_standard_output(result))
        feeds = stack.enter_context(_feeds(job))
        address = cluster.listen or _free_address()
        key = state / "cluster.key"
        cluster_key(key)
        if cluster.joining:
            say(f"waiting for {cluster.joining} more: fsql worker --join {address} --key {key}\n")
        counters = Counters()
        course = _Shown(counters, talk)
        interrupt = stack.enter_context(Interrupt())

        def check() -> None:
            interrupt.check()
            for error in feeds:
                raise error
            if stdout is not None:
                stdout.check()

        launcher = Launcher(
            _command("coordinator", *_coordinator_flags(state, address, stdout)),
            _command("worker", "--supervised", "--join", address, "--key", str(key)),
            options.workers - cluster.joining,
            course.heard,
            check,
        )
        status, code = summary.FINISHED, exit_codes.OK
        try:
            with progress_of(result.job, script.source.name, talk) as progress:
                course.show(progress)
                over = launcher.run()
            stopped = _stopped(over)
            if stopped is not None:
                status, code = summary.STOPPED, exit_codes.STOPPED
                talk.error(stop_error(stopped, result, job.splits, counters.rows_out))
        except Interrupted:
            status, code = summary.INTERRUPTED, exit_codes.INTERRUPTED
        except GivenUpError as error:
            raise _given_up(str(error)) from None
    summary.say_summary(status, counters, talk)
    return code


class _Shown:
    """Shows the course of a run: counters on the panel, and each recovery in a line."""

    def __init__(self, counters: Counters, talk: Talk) -> None:
        self._counters = counters
        self._talk = talk
        self._progress: Progress | None = None
        self._started = time.monotonic()
        self._phase = ("", 0)
        self._epoch = 0
        self._before: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def show(self, progress: Progress) -> None:
        """Show it there from now on."""
        self._progress = progress

    def heard(self, course: Course) -> None:
        """Take note of how far the run is."""
        self._count(course)
        self._counters.seconds = time.monotonic() - self._started
        if self._progress is not None:
            self._progress.update(self._counters)
        self._say_phase(course)

    def _count(self, course: Course) -> None:
        """Add what the epochs have done; what an epoch did last before it was lost is not known."""
        if course.epoch == 0:
            return
        if course.epoch != self._epoch:
            self._counters.recoveries += self._epoch != 0
            self._epoch = course.epoch
            for name, value in self._last.items():
                self._before[name] = self._before.get(name, 0) + value
        self._last = course.tally
        for name, value in course.tally.items():
            before = 0 if name == "rows_state" else self._before.get(name, 0)
            setattr(self._counters, name, before + value)

    def _say_phase(self, course: Course) -> None:
        before, self._phase = self._phase, (course.phase, course.epoch)
        if self._phase == before or self._talk.quiet:
            return
        if self._talk.json:
            phase = {"phase": course.phase, "epoch": course.epoch, "detail": course.detail}
            self._talk.event("phase", phase)
        elif course.detail:
            say(f"recovery: {course.phase} ({course.detail})\n")


class _StandardOutput:
    """Takes what the job writes to standard output, in a thread, for as long as the launcher lives."""

    def __init__(self) -> None:
        assert sys.stdout is not None
        store = StreamStore(sys.stdout.buffer, "standard output")
        self._server = ConsumerServer(("127.0.0.1", 0), store)
        self.address = self._server.address
        self._ended = False
        self._error: FsqlError | None = None
        self._thread = threading.Thread(target=self._serve, name="fsql-stdout", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise what went wrong.

        Raises:
            FsqlError: E535, if nobody reads standard output any more, say.
        """
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the thread."""
        self._ended = True
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        try:
            while not self._ended:
                self._server.serve(_SERVE_SECONDS)
        except FsqlError as error:
            self._error = error


@contextmanager
def _state_directory(wanted: Path | None) -> Iterator[Path]:
    """Make the state directory, for this run alone; one that was not asked for goes with the run.

    Raises:
        FsqlError: E621, if it cannot be used, or another run has it.
    """
    if wanted is None:
        path = Path(tempfile.mkdtemp(prefix="fsql-"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
        return
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        lock = os.open(wanted / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _no_state(wanted, error.strerror or str(error)) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield wanted.resolve()
    except BlockingIOError:
        helps = ("wait for that run, or end it", "or name another directory")
        raise _no_state(wanted, "another run has it", *helps) from None
    finally:
        os.close(lock)


def _no_state(path: Path, reason: str, *helps: str) -> FsqlError:
    message = f'the state directory "{path}" cannot be used: {reason}'
    return FsqlError([Diagnostic("E621", message, helps=helps)])


def _described(
    result: Compiled, options: RunOptions, cluster: ClusterOptions, state: Path
) -> JobDescription:
    """Return the description of the job, from the state directory if it has begun before.

    Raises:
        FsqlError: E621 or E622, if the state is that of another job, or nobody knows of which.
    """
    path = state / "job.json"
    script = result.script
    new = JobDescription(
        job=secrets.token_hex(8),
        script_name=script.source.name,
        script_text=script.source.text,
        script_path=None if script.path is None else str(script.path),
        parameters=dict(script.parameters),
        base_directory=str(script.base_directory),
        state=str(state),
        splits=split_names(open_splits(result, state / "front-log")),
        workers=options.workers,
        policy=None if options.policy is None else options.policy.value,
        lead_rows=options.lead_rows,
        chunk_rows=options.chunk_rows,
        snapshot_every=cluster.snapshot_every,
        delivery=cluster.delivery,
    )
    if path.exists():
        begun = description_of(path.read_bytes())
        if (begun.script_text, begun.parameters) != (new.script_text, new.parameters):
            helps = ("name another state directory", "or run the script that it is of")
            raise _not_this_job(state, helps)
        new = msgspec.structs.replace(new, job=begun.job, splits=begun.splits)
    elif (state / "snapshots").exists():
        helps = ("bring it back from a copy", "or name another directory")
        raise _no_state(state, f'there are snapshots, and no "{path.name}"', *helps)
    draft = path.with_suffix(".partial")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(new))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    synced(state)
    return new


def _not_this_job(state: Path, helps: tuple[str, ...]) -> FsqlError:
    message = f'the state directory "{state}" is of another script, or of other parameters'
    return FsqlError([Diagnostic("E622", message, helps=helps)])


@contextmanager
def _standard_output(result: Compiled) -> Iterator[_StandardOutput | None]:
    connectors = {dict(insert.sink.options)["connector"] for insert in result.job.inserts}
    if "stdout" not in connectors:
        yield None
        return
    output = _StandardOutput()
    try:
        yield output
    finally:
        output.close()


@contextmanager
def _feeds(job: Readied) -> Iterator[list[FsqlError]]:
    """Write what comes by standard input and sockets into front logs; what fails is in the list."""
    failures: list[FsqlError] = []
    with ExitStack() as stack:
        for table in job.compiled.job.tables:
            if needs_front_log(table):
                feed = open_feed(table, job.description.front_logs(), failures.append)
                stack.callback(feed.close)
        yield failures


def _free_address() -> str:
    """Return an address on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


def _coordinator_flags(
    state: Path, address: str, stdout: _StandardOutput | None
) -> tuple[str, ...]:
    flags = ("--state", str(state), "--listen", address)
    if stdout is None:
        return flags
    return (*flags, "--stdout", f"{stdout.address[0]}:{stdout.address[1]}")


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fsql", *arguments]


def _stopped(over: Over) -> Stopped | None:
    """Return where and why the job stopped, None if it came to its end.

    Raises:
        FsqlError: why it cannot go on.
    """
    if over.diagnostics is not None:
        raise error_of(over.diagnostics)
    if over.refused is not None:
        message = f"an output cannot go on: {over.refused[1]}"
        raise FsqlError([Diagnostic("E537", message)])
    if over.stopped is None:
        return None
    row = over.stopped
    reject = None if row.reject is None else Reject(*row.reject)
    return Stopped(Root(*row.root), row.code, reject)


def _given_up(how: str) -> FsqlError:
    message = f"processes of the run keep ending, and nothing gets done: {how}"
    return FsqlError([Diagnostic("E624", message, helps=(CODES["E624"].fix,))])
