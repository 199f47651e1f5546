"""Runs a job on processes: its description, state directory, launcher, and live input and output.

The console and the library call it, each with an observer.
"""

from __future__ import annotations

import secrets
from collections import deque
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.connectors.file.output_files import Existing
from fsql.connectors.live.kinds import needs_front_log
from fsql.connectors.live.live_splits import open_feed
from fsql.job.auto_ticks import AutoChoice, auto_ticks
from fsql.job.coordination import (
    check_coordination,
    job_address,
    job_coordination,
    record_credentials,
    remove_coordination,
)
from fsql.job.description import (
    JobDescription,
    plan_digest,
    prepare_job,
    split_names,
)
from fsql.job.file_uses import FileUses
from fsql.job.first_plan import first_plan
from fsql.job.functions import modules_of
from fsql.job.graph_tick import (
    change_plan,
    complete_change,
    frozen_ordinals,
    newest_manifest,
    with_ordinals,
)
from fsql.job.hosting import hosting_flags
from fsql.job.listener import joining_address, open_listener
from fsql.job.planning import choose_plan
from fsql.job.process_flags import access_flags, coordinator_flags, worker_flags
from fsql.job.run_outcome import stopped_of
from fsql.job.sinks import standard_outputs
from fsql.job.sources import open_splits, source_surroundings
from fsql.job.standard_output_server import StandardOutputServer
from fsql.job.state_directory import (
    deletion_check,
    is_finished,
    read_description,
    record_finished,
    resume_or_create,
    state_directory,
)
from fsql.job.stop import stop_error
from fsql.runtime.drivers.curve.keys import NodeKeys
from fsql.runtime.drivers.processes.fork_server import ForkServer
from fsql.runtime.drivers.processes.job_state import end_leadership
from fsql.runtime.drivers.processes.launcher import GivenUpError, Launcher
from fsql.runtime.drivers.processes.starting import COMMAND
from fsql.runtime.key_file import load_or_create_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.connectors.context import OutputStream
    from fsql.connectors.live.inflows import Feed
    from fsql.job.compilation import Compiled
    from fsql.job.description import PreparedJob
    from fsql.job.planning import RunOptions
    from fsql.job.process_metrics import ProcessMetrics
    from fsql.job.process_observer import ProcessObserver
    from fsql.job.process_options import ProcessOptions
    from fsql.runtime.drivers.processes.job_state import OpenCoordination
    from fsql.runtime.drivers.processes.lines import Finished, ProgressReport
    from fsql.runtime.ports import SourceOffset


def run_on_processes(
    compiled: Compiled,
    options: RunOptions,
    process_options: ProcessOptions,
    observer: ProcessObserver,
    metrics: ProcessMetrics,
    stdout: OutputStream | None = None,
) -> FsqlError | None:
    """Run a job on processes of this machine until its input ends or a row stops it.

    Return the error of that row, None if there is none.  `stdout` replaces standard output.

    Raises:
        FsqlError: if a source, a sink or the state directory fails; E624, if processes end repeatedly.
    """
    with ExitStack() as stack:
        start = process_options.start_process or stack.enter_context(ForkServer()).start
        curve = None if process_options.keys is None else NodeKeys(process_options.keys)
        listening = stack.enter_context(open_listener(process_options.listen, curve))
        address = joining_address(listening, curve)
        state = stack.enter_context(state_directory(process_options.state))
        compiled = _continue_begun(compiled, options, process_options, state)
        files = check_files(compiled)
        description = make_description(compiled, options, process_options, state)
        locks = stack.enter_context(files.lock(options.existing, state / "positions"))
        job = prepare_job(resume_or_create(state, description))
        if is_finished(state):
            observer.on_already_finished(state)
        leader, coordination = _open_coordination(job, address, process_options, stack)
        key = state / "cluster.key"
        access = access_flags(process_options, curve)
        server = _serve_standard_output(job, load_or_create_key(key), stdout, stack)
        _report_ready(job, options, observer)
        checks = [
            stack.enter_context(_open_feeds(job, state, observer, server, metrics.count_unread))
        ]
        observer.on_listening(job)
        if by_hand := process_options.joining:
            observer.on_waiting(by_hand, leader, key, process_options.keys)
        metrics.name_fronts(job.front_names())
        hosting = hosting_flags(compiled, options, process_options)
        coordinator = coordinator_flags(state, listening, server, process_options)
        launcher = Launcher(
            [*COMMAND, *coordinator, *access, *hosting],
            [*COMMAND, *worker_flags(leader, key, listening, access)],
            (options.workers, by_hand + bool(hosting)),
            _report_to(observer, metrics),
            partial(_check_all, checks),
            inherits=(listening.fileno(), *_inherited_locks(locks, process_options)),
            on_coordinator_ended=lambda: end_leadership(coordination, address),
            on_tick=observer.on_tick,
            start_process=start,
        )
        checks += _choose_ticks(job, state, process_options, hosting, observer, stack)
        try:
            with observer.show(job, resumed=job.description is not description):
                finished = launcher.run()
        except GivenUpError as error:
            raise _give_up_error(str(error)) from None
        finally:
            metrics.finish()
        return _outcome(finished, job, state, metrics.total.rows_out, observer)


def _report_ready(job: PreparedJob, options: RunOptions, observer: ProcessObserver) -> None:
    """Report that the job is ready, and why the given profile is not used, if it is not."""
    observer.on_ready(job)
    problem = None if options.profile is None else options.profile.problem
    if problem is not None:
        observer.on_choice(AutoChoice(0, problems=(str(problem),)))


def _choose_ticks(
    job: PreparedJob,
    state: Path,
    options: ProcessOptions,
    hosting: tuple[str, ...],
    observer: ProcessObserver,
    stack: ExitStack,
) -> list[Callable[[], None]]:
    """Choose ticks while the stack is open, if that is requested; return the function that reports them."""
    if not options.auto:
        return []
    return [stack.enter_context(auto_ticks(job, state, observer.on_choice, hosted=bool(hosting)))]


def _check_all(checks: list[Callable[[], None]]) -> None:
    for check in checks:
        check()


def _outcome(
    finished: Finished, job: PreparedJob, state: Path, rows_out: int, observer: ProcessObserver
) -> FsqlError | None:
    """Return the error of the row that stopped the job; if its input has ended, record that it has finished.

    Raises:
        FsqlError: if the job cannot continue.
    """
    if finished.drained:
        observer.on_drained()
        return None
    stopped = stopped_of(finished)
    if stopped is None:
        record_finished(state)
        return None
    return stop_error(stopped, job.compiled, job.splits, rows_out, _resumed(job, state))


def _resumed(job: PreparedJob, state: Path) -> dict[tuple[int, int], SourceOffset]:
    """Return where the newest snapshot resumes each split, by the ordinal of its table and its number."""
    try:
        manifest = newest_manifest(state)
    except FsqlError:
        return {}
    points = {} if manifest is None else {point.front: point for point in manifest.fronts}
    return {
        (task.ordinal, task.split): points[task.number].source_offset
        for task in job.fronts
        if task.number in points
    }


def _continue_begun(
    compiled: Compiled, options: RunOptions, process_options: ProcessOptions, state: Path
) -> Compiled:
    """Return the script with the ordinals of its tables in the job; change the plan of the job if requested.

    Raises:
        FsqlError: E638, if the plan cannot be changed.
    """
    if process_options.credentials is not None:
        record_credentials(state, process_options.credentials)
    complete_change(state)
    begun = read_description(state)
    if begun is None or (process_options.change is None and not begun.ordinals):
        return compiled
    compiled = with_ordinals(compiled, frozen_ordinals(begun))
    if process_options.change is not None and plan_digest(compiled) != begun.plan:
        new = make_description(compiled, options, process_options, state)
        files = check_files(compiled)
        files.check_kept(state / "positions")
        with files.lock(options.existing, state / "positions"):
            pass  # errors that prevent a start are found before the change
        inconsistent = process_options.allow_inconsistent
        change = process_options.change
        change_plan(state, begun, compiled, new, change, allow_inconsistent=inconsistent)
    return compiled


def check_files(compiled: Compiled) -> FileUses:
    """Return the files that a job uses.

    Raises:
        FsqlError: E532, if one is written that something else reads or writes.
    """
    files = FileUses(compiled)
    files.check()
    return files


def _inherited_locks(locks: list[int], process_options: ProcessOptions) -> list[int]:
    """Return the locks of outputs that the coordinator also holds.

    A coordinator outlives a launcher that is killed.  It holds the locks of a run without a state directory.
    With one, the lease keeps it from writing, and the same job must be able to start again.
    """
    return locks if process_options.state is None else []


def _report_to(
    observer: ProcessObserver, metrics: ProcessMetrics
) -> Callable[[ProgressReport], None]:
    """Return a function that counts the reports of the coordinator and passes them to the observer."""

    def on_report(report: ProgressReport) -> None:
        metrics.add(report)
        observer.on_report(report, metrics)

    return on_report


def make_description(
    compiled: Compiled, options: RunOptions, process_options: ProcessOptions, state: Path
) -> JobDescription:
    """Return the description of a job that has not been started before.

    Raises:
        FsqlError: E318, E531 to E534, if a source cannot be opened.
    """
    script, coordination = compiled.script, process_options.coordination
    splits, plan = open_splits(compiled, state / "front-log"), plan_digest(compiled)
    first = None
    if options.profile is not None:
        without = choose_plan(compiled, splits, replace(options, profile=None))
        first = first_plan(without, plan, options.profile)
    return JobDescription(
        job=secrets.token_hex(8),
        script_name=script.source.name,
        script_text=script.source.text,
        script_path=None if script.path is None else str(script.path),
        parameters=dict(script.parameters),
        base_directory=str(script.base_directory),
        state=str(state),
        plan=plan,
        splits=split_names(splits),
        workers=options.workers,
        policy=None if options.policy is None else options.policy.value,
        read_ahead_rows=options.read_ahead_rows,
        chunk_rows=options.chunk_rows,
        snapshot_every=process_options.snapshot_every,
        delivery=process_options.delivery,
        append=options.existing is Existing.APPEND,
        tick_seconds=process_options.tick_seconds,
        functions=tuple(map(str, script.functions)),
        modules=modules_of(compiled.job),
        columns=dict(script.columns),
        first=first,
        hosted=bool(hosting_flags(compiled, options, process_options)),
        coordination=None if coordination is None else str(coordination),
    )


def _open_coordination(
    job: PreparedJob, address: str, options: ProcessOptions, stack: ExitStack
) -> tuple[str, OpenCoordination]:
    """Return where workers find the coordinator, and the function that opens coordination.

    The data in ZooKeeper of a job without a state directory is deleted at the end.

    Raises:
        FsqlError: E615, E642 or E643, if ZooKeeper cannot be used now.
    """
    opening = job_coordination(job.description, options.credentials)
    if (zookeeper := job_address(job.description)) is None:
        return address, opening
    check_coordination(opening, Path(job.description.state))
    if options.state is None:
        stack.callback(remove_coordination, zookeeper, options.credentials)
    return str(zookeeper), opening


def _serve_standard_output(
    job: PreparedJob, key: bytes, stdout: OutputStream | None, stack: ExitStack
) -> StandardOutputServer | None:
    """Start the server of standard output, if the job writes to it."""
    if not standard_outputs(job.compiled):
        return None
    if stdout is None:
        message = "standard output cannot be written: it is closed"
        raise FsqlError([Diagnostic("E532", message)])
    server = StandardOutputServer(stdout, job.description.job, key)
    stack.callback(server.close)
    return server


@contextmanager
def _open_feeds(
    job: PreparedJob,
    state: Path,
    observer: ProcessObserver,
    server: StandardOutputServer | None,
    on_unread: Callable[[str, int], None],
) -> Iterator[Callable[[], None]]:
    """Write data from standard input, sockets and followed files to front logs.

    Return a function that raises interrupts, and errors of live input, standard output and the state.  At the
    end, `on_unread` is called with the bytes of each table that are in no line, unless the job has finished.
    """

    def close(feed: Feed, table: str) -> None:
        feed.close()
        if not is_finished(state):
            on_unread(table, feed.bytes_dropped)

    errors: list[FsqlError] = []
    notes: deque[str] = deque()
    logs = job.description.front_logs()
    context = source_surroundings(job.compiled, logs, notes.append)

    def report_notes() -> None:
        while notes:
            observer.on_input_note(notes.popleft())

    with ExitStack() as stack:
        check_state = stack.enter_context(deletion_check(state))
        stack.callback(report_notes)
        for table in job.compiled.job.tables:
            if needs_front_log(table):
                feed = open_feed(table, logs, errors.append, context)
                stack.callback(close, feed, table.name)

        def check() -> None:
            observer.check()
            check_state()
            report_notes()
            for error in errors:
                raise error
            if server is not None:
                server.check()

        yield check


def _give_up_error(reason: str) -> FsqlError:
    message = f"processes of the run keep ending without progress: {reason}"
    return FsqlError([Diagnostic("E624", message, helps=(CODES["E624"].fix,))])
