"""`fsql run` on several processes: from the script to the summary and the exit code."""

from __future__ import annotations

import secrets
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.encoding import error_of
from fsql.connectors.file.output_files import Existing
from fsql.connectors.live.live_splits import needs_front_log, open_feed
from fsql.connectors.stream_stores import StreamStore
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.console import exit_codes, summary
from fsql.console.before_run import print_listening, print_warnings
from fsql.console.broken_pipe import discard_standard_output, is_broken_pipe
from fsql.console.interrupt import Interrupt, Interrupted
from fsql.console.job_progress import JobProgress
from fsql.console.joining import joining_address, open_listener, print_join_command
from fsql.console.progress import choose_progress_display
from fsql.console.standard_output import open_standard_output
from fsql.console.unused_parameters import warn_unused_parameters
from fsql.job.compilation import compile_job
from fsql.job.description import JobDescription, plan_digest, prepare_job, split_names
from fsql.job.file_uses import FileUses
from fsql.job.input_warnings import unkept_outputs
from fsql.job.overview import describe_job
from fsql.job.run import open_splits
from fsql.job.state_directory import is_finished, record_finished, resume_or_create, state_directory
from fsql.job.stop import stop_error
from fsql.runtime.batch import Root
from fsql.runtime.dataflow.barrier import Stopped
from fsql.runtime.drivers.local import Counters
from fsql.runtime.drivers.processes.job_state import end_leadership
from fsql.runtime.drivers.processes.launcher import GivenUpError, Launcher
from fsql.runtime.key_file import cluster_key
from fsql.runtime.ports import DeadLetter

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.connectors.context import OutputStream
    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.description import PreparedJob
    from fsql.job.overview import JobOverview
    from fsql.job.run import RunOptions
    from fsql.job.script import Script
    from fsql.runtime.drivers.processes.lines import Finished

_SERVE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """How a job is run on processes.

    `state` is the directory that outlives the run, None for one that does not; `listen` the address of the
    coordinator, None for any; `joining` how many of the workers are started by hand; `form` how a bare
    SELECT prints: see `open_standard_output`.
    """

    state: Path | None = None
    snapshot_every: float | None = 1.0
    delivery: str | None = None
    listen: str | None = None
    joining: int = 0
    form: str | None = None


def run_on_processes(
    script: Script, options: RunOptions, cluster: ProcessOptions, reporter: Reporter
) -> int:
    """Run a script; say how it goes; return the exit code.

    Raises:
        FsqlError: what is wrong with the script, a file that it names, or the state directory.
    """
    try:
        return _run(script, options, cluster, reporter)
    except FsqlError as error:
        if not is_broken_pipe(error):
            raise
        discard_standard_output()
        return exit_codes.OK


def _run(script: Script, options: RunOptions, cluster: ProcessOptions, reporter: Reporter) -> int:
    result = compile_job(script)
    warn_unused_parameters([script], reporter)
    with ExitStack() as stack:
        listening = stack.enter_context(open_listener(cluster.listen))
        address = joining_address(listening)
        interrupt = stack.enter_context(Interrupt())
        state = stack.enter_context(state_directory(cluster.state))
        files = FileUses(result)
        files.check()
        described = _described(result, options, cluster, state)
        locks = stack.enter_context(files.locked(options.existing, state / "positions"))
        job = prepare_job(resume_or_create(state, described))
        _say_if_over(state, reporter)
        key = state / "cluster.key"
        stdout = stack.enter_context(
            _standard_output(job, cluster_key(key), cluster.form, reporter)
        )
        print_warnings(job.compiled, job.splits, reporter)
        feeds = stack.enter_context(_feeds(job, reporter))
        if cluster.joining:
            print_join_command(cluster.joining, address, key, reporter)
        counters = Counters()
        job_progress = JobProgress(counters, reporter, job.front_names())

        def check() -> None:
            interrupt.check()
            for error in feeds:
                raise error
            if stdout is not None:
                stdout.check()

        launcher = Launcher(
            _command(
                "coordinator",
                *_coordinator_flags(state, listening, stdout),
                *(("--temporary",) if cluster.state is None else ()),
            ),
            _command("worker", "--supervised", "--join", address, "--key", str(key)),
            options.workers - cluster.joining,
            job_progress.on_report,
            check,
            inherits=(listening.fileno(), *locks),
            on_coordinator_ended=lambda: end_leadership(state, address),
        )
        try:
            with choose_progress_display(
                result.job, _describe(job, described), script.source.name, reporter
            ) as progress:
                job_progress.show(progress)
                over = launcher.run()
            status, code = _ended(over, job, state, counters, reporter)
        except Interrupted as interrupted:
            status, code = summary.INTERRUPTED, interrupted.exit_code
        except GivenUpError as error:
            raise _given_up(str(error)) from None
    job_progress.finish()
    summary.print_summary(
        status, counters, reporter, unkept=unkept_outputs(result), files=files.written()
    )
    return code


def _describe(job: PreparedJob, described: JobDescription) -> JobOverview:
    """Return the overview of a job, of which `described` is the description if it is new."""
    overview = describe_job(job.compiled.job, job.splits)
    if job.description is described:
        return overview
    return replace(overview, input_bytes=None)  # what was read before is not counted


def _say_if_over(state: Path, reporter: Reporter) -> None:
    """Print that the job has come to its end before: what was added to its input is not read."""
    if is_finished(state):
        text = (
            "this job came to its end before: only what its outputs lack is written\n"
            f"  to read its input anew, name another directory than --state {state}\n"
        )
        reporter.inform("over", {"state": str(state)}, text)


class _StandardOutput:
    """Takes what the job writes to standard output, in a thread, for as long as the launcher lives."""

    def __init__(self, stream: OutputStream, job: str, key: bytes) -> None:
        """Listen to `job`, which proves that it has the key of the run."""
        store = StreamStore(stream, "standard output")
        self._server = ConsumerServer(("127.0.0.1", 0), store, job=job, key=key)
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


def _described(
    result: Compiled, options: RunOptions, cluster: ProcessOptions, state: Path
) -> JobDescription:
    """Return the description of the job, as if it had not begun before.

    Raises:
        FsqlError: E318, E531 to E534, if a source cannot be opened.
    """
    script = result.script
    return JobDescription(
        job=secrets.token_hex(8),
        script_name=script.source.name,
        script_text=script.source.text,
        script_path=None if script.path is None else str(script.path),
        parameters=dict(script.parameters),
        base_directory=str(script.base_directory),
        state=str(state),
        plan=plan_digest(result),
        splits=split_names(open_splits(result, state / "front-log")),
        workers=options.workers,
        policy=None if options.policy is None else options.policy.value,
        lead_rows=options.lead_rows,
        chunk_rows=options.chunk_rows,
        snapshot_every=cluster.snapshot_every,
        delivery=cluster.delivery,
        append=options.existing is Existing.APPEND,
    )


@contextmanager
def _standard_output(
    job: PreparedJob, key: bytes, form: str | None, reporter: Reporter
) -> Iterator[_StandardOutput | None]:
    inserts = job.compiled.job.inserts
    connectors = {dict(insert.sink.options)["connector"] for insert in inserts}
    if "stdout" not in connectors:
        yield None
        return
    assert sys.stdout is not None
    stream = open_standard_output(job.compiled.job, form, reporter)
    output = _StandardOutput(stream, job.description.job, key)
    try:
        yield output
    finally:
        output.close()


@contextmanager
def _feeds(job: PreparedJob, reporter: Reporter) -> Iterator[list[FsqlError]]:
    """Write what comes by standard input and sockets into front logs; what fails is in the list."""
    failures: list[FsqlError] = []
    with ExitStack() as stack:
        for table in job.compiled.job.tables:
            if needs_front_log(table):
                feed = open_feed(table, job.description.front_logs(), failures.append)
                stack.callback(feed.close)
        print_listening(job.compiled, reporter)
        yield failures


def _coordinator_flags(
    state: Path, listening: socket.socket, stdout: _StandardOutput | None
) -> tuple[str, ...]:
    flags = ("--state", str(state), "--listening", str(listening.fileno()))
    if stdout is None:
        return flags
    return (*flags, "--stdout", f"{stdout.address[0]}:{stdout.address[1]}")


def _command(*arguments: str) -> list[str]:
    # -P: a file beside the data whose name is that of a module is not executed.
    return [sys.executable, "-P", "-m", "fsql", *arguments]


def _ended(
    over: Finished, job: PreparedJob, state: Path, counters: Counters, reporter: Reporter
) -> tuple[str, int]:
    """Say why the job stopped, or note that it came to its end; return the status and the exit code.

    Raises:
        FsqlError: why it cannot go on.
    """
    stopped = _stopped(over)
    if stopped is None:
        record_finished(state)
        return summary.FINISHED, exit_codes.OK
    reporter.error(stop_error(stopped, job.compiled, job.splits, counters.rows_out))
    return summary.STOPPED, exit_codes.STOPPED


def _stopped(over: Finished) -> Stopped | None:
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
    reject = None if row.reject is None else DeadLetter(*row.reject)
    return Stopped(Root(*row.root), row.code, reject)


def _given_up(how: str) -> FsqlError:
    message = f"processes of the run keep ending, and nothing gets done: {how}"
    return FsqlError([Diagnostic("E624", message, helps=(CODES["E624"].fix,))])
