"""The agent: keeps the jobs of a cluster directory running, and carries out the requests of commands.

It may be killed at any time: jobs continue without it, and the next agent finds them by their locks.  All its
state is in the cluster directory.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from fsql import __version__
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.encoding import error_of
from fsql.compiler.statistics import TICK_SECONDS
from fsql.deployment.agent_log import bound_log, log_line
from fsql.deployment.connections import check_same_coordination
from fsql.deployment.directory import AgentAddress, Deployment, check_name, take_lock
from fsql.deployment.files import file_error, system_error, write_bytes
from fsql.deployment.messages import (
    Deploy,
    Done,
    Down,
    Drop,
    Ping,
    Rename,
    Start,
    Stop,
)
from fsql.deployment.page_process import PageProcess
from fsql.deployment.server import RequestServer
from fsql.deployment.statistics_process import StatisticsProcess
from fsql.deployment.supervisor import STOP_SECONDS, Supervisor
from fsql.job.coordination import forget_job
from fsql.job.plan_file import parse_plan_file
from fsql.job.snapshot_request import request_snapshot
from fsql.job.state_directory import read_description
from fsql.runtime.drivers.processes.starting import start_process
from fsql.runtime.key_file import load_or_create_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from fsql.deployment.directory import ClusterDirectory, JobDirectory
    from fsql.deployment.job_process import JobProcess
    from fsql.deployment.messages import Request
    from fsql.runtime.drivers.processes.starting import StartProcess

_Value = TypeVar("_Value")

ROUND_SECONDS: Final = 0.2
WORKERS_DEFAULT: Final = 1
SNAPSHOT_MS_DEFAULT: Final = 1000


def run_agent(directory: ClusterDirectory, start_process: StartProcess = start_process) -> bool:
    """Run the agent of a cluster directory until `fsql down` or a signal; return False if another one runs.

    `start_process` starts the processes of jobs.

    Raises:
        FsqlError: E632, if the directory cannot be used; E602, if its key cannot be used.
    """
    directory.create()
    lock = take_lock(directory.lock)
    if lock is None:
        return False
    try:
        _Agent(directory, lock, start_process).run()
    finally:
        os.close(lock)
    return True


class _Agent:
    """Carries out requests, each in its own thread, while the main thread keeps jobs running."""

    def __init__(self, directory: ClusterDirectory, lock: int, start_process: StartProcess) -> None:
        """Take the cluster directory, and the descriptor that holds its lock."""
        self._directory = directory
        self._lock = lock
        self._supervisor = Supervisor(directory, log_line, start_process)
        self._statistics = StatisticsProcess(directory, log_line)
        self._page = PageProcess(directory, log_line)
        self._names = threading.Lock()
        self._end = threading.Event()
        self._ending = False
        key = load_or_create_key(directory.key)
        try:
            self._server = RequestServer(directory.requests, key, self._carry_out, log_line)
        except OSError as error:
            raise system_error(directory.requests, error) from None

    def run(self) -> None:
        """Run until `fsql down` or a signal.

        Raises:
            FsqlError: E632, if the cluster directory is deleted.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._server.start()
        self._directory.set_address(AgentAddress(os.getpid()))
        log_line(f"agent {os.getpid()} listens in {self._directory.requests}")
        try:
            while not self._end.wait(ROUND_SECONDS):
                if os.fstat(self._lock).st_nlink == 0:
                    raise file_error(self._directory.path, "it was deleted while the agent ran")
                bound_log(self._directory.log)
                if not self._ending:
                    self._supervisor.reconcile_all()
                    self._statistics.reconcile()
                    self._page.reconcile()
        finally:
            self._server.close()
            self._page.end()
            self._statistics.end()
            log_line("agent ends")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._end.set()

    def _carry_out(self, request: Request) -> Done:
        """Carry out a request.

        Raises:
            FsqlError: if it cannot be carried out.
        """
        started = time.monotonic()
        job = None
        match request:
            case Ping():
                pass
            case Deploy():
                job = self._deploy(request)
            case Stop():
                job = self._stop(request)
            case Start():
                job = self._start(request)
            case Rename():
                job = self._rename(request)
            case Drop(name):
                job = self._drop(name)
            case Down():
                self._stop_all()
        if not isinstance(request, Ping):
            log_line(f"{type(request).__name__.lower()} {getattr(request, 'name', '')}".rstrip())
        return Done(__version__, os.getpid(), job, time.monotonic() - started)

    def _deploy(self, request: Deploy) -> str:
        parse_plan_file("plan", request.plan.encode())
        check_name(request.name)
        if request.change is not None:
            return self._change(request)
        with self._names:
            if request.name in self._directory.by_name():
                raise _name_error(request.name)
            job = self._directory.job_of(secrets.token_hex(8))
            deployment = Deployment(
                job.path.name,
                request.name,
                request.workers or WORKERS_DEFAULT,
                request.snapshot_ms or SNAPSHOT_MS_DEFAULT,
                request.delivery,
                request.existing,
                request.wanted,
                time.time(),
                connections=request.connections.or_else(self._directory.connections()),
                auto=bool(request.auto),
                tick_seconds=_or_default(request.tick_seconds, TICK_SECONDS),
                machines=request.machines or {},
                profile=request.profile,
            )
            try:
                job.path.mkdir(mode=0o700)
                write_bytes(job.path / "plan", request.plan.encode())
                job.set_deployment(deployment)
            except (FsqlError, OSError):
                shutil.rmtree(job.path, ignore_errors=True)
                raise
        return job.path.name

    def _change(self, request: Deploy) -> str:
        """Stop a job at a committed position, and start it with another plan."""
        job, deployment = self._directory.find_job(request.name)
        connections = request.connections.or_else(deployment.connections)
        check_same_coordination(deployment.connections, connections)
        with self._supervisor.lock_job(job.path.name), self._prepare_process(job) as prepared:
            if request.before not in {None, job.deployment().plan}:
                raise _changed_meanwhile_error(request.name)
            outcome = job.outcome()
            if job.runner() is not None or outcome is None or outcome.kind != "drained":
                self._drain(job, request.drain_seconds)
            before = job.deployment()
            plan = f"plan-{secrets.token_hex(4)}"
            write_bytes(job.path / plan, request.plan.encode())
            self._supervisor.set_deployment(
                job,
                msgspec.structs.replace(
                    before,
                    plan=plan,
                    change=request.change,
                    allow_inconsistent=request.allow_inconsistent,
                    workers=request.workers or before.workers,
                    snapshot_ms=request.snapshot_ms or before.snapshot_ms,
                    delivery=request.delivery or before.delivery,
                    existing=request.existing,
                    wanted="running",
                    connections=connections,
                    auto=_or_default(request.auto, before.auto),
                    tick_seconds=_or_default(request.tick_seconds, before.tick_seconds),
                    machines=_or_default(request.machines, before.machines),
                    profile=request.profile,
                ),
            )
            job.set_restarts(None)
            self._start_changed(job, before, prepared)
            (job.path / before.plan).unlink(missing_ok=True)
        return job.path.name

    @contextmanager
    def _prepare_process(self, job: JobDirectory) -> Iterator[JobProcess | None]:
        """Start the process that will continue a running job, before the job stops.

        If it is not used, it is ended.
        """
        if job.runner() is None:
            yield None
            return
        prepared = self._supervisor.prepare()
        try:
            yield prepared
        finally:
            if not prepared.is_handed_over:
                prepared.end()

    def _start_changed(
        self, job: JobDirectory, before: Deployment, prepared: JobProcess | None
    ) -> None:
        """Start a job with another plan; if the plan cannot be changed, start it as it was `before`.

        Raises:
            FsqlError: if the plan cannot be changed.
        """
        started = read_description(job.state)
        self._supervisor.start(job, prepared)
        while self._supervisor.is_running(job):
            description, status = read_description(job.state), job.status()
            if started is None or description is None or description.plan != started.plan:
                return
            if status is not None and status.pid == job.runner():
                return  # the plan is the same
            self._supervisor.kill_if_still(job)
            time.sleep(ROUND_SECONDS)
        outcome, description = job.outcome(), read_description(job.state)
        changed = started is None or description is None or description.plan != started.plan
        if changed or outcome is None or outcome.diagnostics is None:
            return  # the supervisor starts it again
        (job.path / job.deployment().plan).unlink(missing_ok=True)
        self._supervisor.set_deployment(job, before)
        self._supervisor.start(job)
        raise error_of(outcome.diagnostics.encode())

    def _stop(self, request: Stop) -> str:
        job, _ = self._directory.find_job(request.name)
        with self._supervisor.lock_job(job.path.name):
            if request.drain_seconds is not None:
                self._drain(job, request.drain_seconds)
            try:
                self._supervisor.want_stopped(job)
            except FsqlError as error:  # for example, the disk is full, perhaps because of the job
                raise _not_stored_error(error) from None
            finally:
                self._supervisor.stop(job)
        return job.path.name

    def _drain(self, job: JobDirectory, seconds: float) -> None:
        """Stop a running job at a committed position, at or above which nothing is released.

        Raises:
            FsqlError: E636, if it takes too long; E637, if the job does not run.
        """
        if job.runner() is None:
            message = f'the job "{job.deployment().name}" is not running'
            raise FsqlError([Diagnostic("E637", message, helps=(CODES["E637"].fix,))])
        request_snapshot(
            job.state, last=True, seconds=seconds, is_running=lambda: job.runner() is not None
        )
        self._supervisor.wait_until_ended(job, STOP_SECONDS)

    def _start(self, request: Start) -> str:
        job, deployment = self._directory.find_job(request.name)
        connections = request.connections.or_else(deployment.connections)
        check_same_coordination(deployment.connections, connections)
        with self._supervisor.lock_job(job.path.name), self._prepare_process(job) as prepared:
            self._supervisor.stop(job)
            job.set_restarts(None)
            outcome = job.outcome()
            if outcome is None or outcome.kind != "finished":
                job.set_outcome(None)
            self._supervisor.set_deployment(
                job,
                msgspec.structs.replace(
                    job.deployment(), connections=connections, wanted="running"
                ),
            )
            self._supervisor.start(job, prepared)
        return job.path.name

    def _rename(self, request: Rename) -> str:
        check_name(request.new_name)
        with self._names:
            job, deployment = self._directory.find_job(request.name)
            if request.new_name in self._directory.by_name():
                raise _name_error(request.new_name)
            with self._supervisor.lock_job(job.path.name):
                job.set_deployment(msgspec.structs.replace(deployment, name=request.new_name))
        return job.path.name

    def _drop(self, name: str) -> str:
        job, _ = self._directory.find_job(name)
        with self._names, self._supervisor.lock_job(job.path.name):
            with suppress(FsqlError):  # on a full disk, for which dropping jobs is a remedy
                self._supervisor.want_stopped(job)
            self._supervisor.stop(job)
            # Renamed first, so that a partly deleted directory is not considered a job.
            removed = job.path.with_name(f".{job.path.name}.dropped")
            job.path.rename(removed)
            forget_job(removed / "state")
            shutil.rmtree(removed, ignore_errors=True)
        return job.path.name

    def _stop_all(self) -> None:
        """Stop the processes of all jobs, which remain wanted, and end after the answer is sent."""
        threads = [
            threading.Thread(target=self._stop_job, args=[job]) for job in self._directory.jobs()
        ]
        self._ending = True
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._end.set()

    def _stop_job(self, job: JobDirectory) -> None:
        with self._supervisor.lock_job(job.path.name):
            self._supervisor.stop(job)


def _or_default(value: _Value | None, otherwise: _Value) -> _Value:
    return otherwise if value is None else value


def _changed_meanwhile_error(name: str) -> FsqlError:
    message = f"the plan of job {name} was changed by another command meanwhile"
    helps = ("repeat the command, which begins with the new plan",)
    return FsqlError([Diagnostic("E638", message, helps=helps)])


def _name_error(name: str) -> FsqlError:
    message = f'a job is deployed as "{name}" already'
    helps = ("use another name, or drop that job: fsql drop NAME",)
    return FsqlError([Diagnostic("E634", message, helps=helps)])


def _not_stored_error(error: FsqlError) -> FsqlError:
    """Return the error for a job that was stopped, if this could not be stored."""
    [cause] = error.diagnostics
    message = f"the job is stopped, but this could not be stored: {cause.message}"
    helps = (*cause.helps, "until this is stored, a new agent (fsql up) starts the job again")
    return FsqlError([Diagnostic(cause.code, message, helps=helps)])
