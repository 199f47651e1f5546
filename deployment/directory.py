"""The cluster directory: the deployed jobs of this machine, and their states.

    DIR/cluster.json      the id of the cluster, and the version of fsql that created it
    DIR/agent.key         the key of the agent: users who can read it can change jobs
    DIR/agent.json        the process of the agent that listens
    DIR/agent.lock        held by the agent while it runs
    DIR/requests/         the socket on which the agent listens
    DIR/agent.log         what the agent reports
    DIR/connections.json  the connections of jobs that are deployed without their own
    DIR/page.json         the page that the agent serves
    DIR/page_settings.json  whether it serves one
    DIR/statistics.json   which collector computes statistics
    DIR/statistics.lock   held by the statistics service while it runs
    DIR/statistics.log    what the statistics service reports
    DIR/jobs/ID/          a job:
        deployment.json   its name, its options, and whether it is to run
        plan, plan-ID     the compiled plan, and that of a changed script
        state/            its state directory
        log               what the job reports, one JSON object or line of text each
        lock              held by the process that runs the job; contains its process id
        status.json       the status of the job, written by that process
        outcome.json      how its last run ended
        restarts.json     the number of failed starts by the agent, and the time of the next one
    DIR/machines/NAME/    other machines: see `fsql.deployment.machines`

Everything can be read without the agent.  Only the agent starts, stops and changes jobs.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from fsql import __version__
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.statistics import TICK_SECONDS
from fsql.deployment.connections import Connections
from fsql.deployment.files import file_error, read_json, subdirectories, system_error, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

DIRECTORY_NAME: Final = ".fsql"
VARIABLE: Final = "FSQL_DIR"
FORMAT: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LOCK_ATTEMPTS: Final = 10
_LOCK_SECONDS: Final = 0.02


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster directory; `id` is unique."""

    id: str
    fsql: str
    format: int = FORMAT


class AgentAddress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The agent that listens in the directory `requests`."""

    pid: int


class StatisticsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which collector computes statistics; `master` is the URL of the Spark master."""

    collector: Literal["built-in", "spark"] = "built-in"
    master: str = "local[*]"


class PageSettings(msgspec.Struct, frozen=True):
    """Whether the agent serves the page of `fsql ui`, and at which port; 0 is a free one."""

    wanted: bool = True
    port: int = 0


class PageAddress(msgspec.Struct, frozen=True):
    """The page that an agent serves: its process, and its address with the token."""

    agent: int
    pid: int
    url: str


class Deployment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job as it was deployed.

    `wanted` says whether it should run.  `plan` is the file of the compiled plan, `change` its permitted
    effect on the state of the previous plan: see `fsql.job.graph_diff.StateChange`.  `auto` says whether the
    job chooses its ticks, every `tick_seconds`, which is also how often its workers write statistics.
    `machines` has the numbers of workers that run on other machines: see `fsql.deployment.machines`.
    `profile` is the path of a profile of the input, by which the first plan is chosen.  With
    `allow_inconsistent`, changes of outputs need not add up across the last change of the plan.
    """

    id: str
    name: str
    workers: int
    snapshot_ms: int
    delivery: str | None
    existing: Literal["refuse", "overwrite", "append"]
    wanted: Literal["running", "stopped"]
    created: float
    plan: str = "plan"
    change: Literal["keep", "lose", "rebuild"] | None = None
    connections: Connections = Connections()
    auto: bool = False
    tick_seconds: float = TICK_SECONDS
    machines: dict[str, int] = {}
    profile: str | None = None
    allow_inconsistent: bool = False


class JobStatus(msgspec.Struct, frozen=True):
    """The status of a job; times are seconds since 1970.

    `held_by` names the split that holds output back, without new rows for `held_seconds`; `min_time` is its
    promise as text, "" if it has made none or rows have no event time.  `progress` is the position from
    which a recovery would continue, as time and origin; `start_seconds` is the time until rows were
    processed, without the starts of processes, `restore_seconds` the time for loading state.  `workers` is
    the number of workers, 0 if it is not known yet.
    """

    pid: int
    started: float
    updated: float
    phase: str
    epoch: int
    detail: str
    problems: tuple[str, ...] = msgspec.field(name="troubles")
    held_by: str
    held_seconds: float
    progress: tuple[int, int]
    counters: dict[str, int]
    snapshot_at: float | None = None
    start_seconds: float | None = None
    restore_seconds: float | None = None
    min_time: str = ""
    workers: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """How a run of a job ended; `diagnostics` is an error, encoded by `diagnostics_bytes`.

    `lasting` says that another attempt would fail in the same way.
    """

    kind: Literal["finished", "stopped", "drained", "failed"]
    at: float
    diagnostics: str | None = None
    lasting: bool = False


class Restarts(msgspec.Struct, frozen=True):
    """Attempts that ended without progress, and when the agent makes the next one."""

    failures: int
    next_at: float
    progress: tuple[int, int]
    reason: str


class JobDirectory:
    """The files of one job."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = path / "state"
        self.log = path / "log"
        self.lock = path / "lock"

    def plan_of(self, deployment: Deployment) -> Path:
        """Return the file of the compiled plan."""
        return self.path / deployment.plan

    def deployment(self) -> Deployment:
        """Return the deployment.

        Raises:
            FsqlError: E632, if it cannot be read.
        """
        found = read_json(self.path / "deployment.json", Deployment)
        if found is None:
            raise file_error(self.path / "deployment.json", "it is missing")
        return found

    def set_deployment(self, deployment: Deployment) -> None:
        """Record the deployment."""
        write_json(self.path / "deployment.json", deployment)

    def status(self) -> JobStatus | None:
        """Return the last status that the job has reported."""
        return read_json(self.path / "status.json", JobStatus)

    def set_status(self, status: JobStatus) -> None:
        """Record the status of the job."""
        write_json(self.path / "status.json", status, durable=False)

    def outcome(self) -> Outcome | None:
        """Return how the last run ended; None if it has not, or its end was not recorded."""
        return read_json(self.path / "outcome.json", Outcome)

    def set_outcome(self, outcome: Outcome | None) -> None:
        """Record how the run ended; None at its beginning."""
        if outcome is None:
            (self.path / "outcome.json").unlink(missing_ok=True)
        else:
            write_json(self.path / "outcome.json", outcome)

    def restarts(self) -> Restarts | None:
        """Return the attempts that ended without progress."""
        return read_json(self.path / "restarts.json", Restarts)

    def set_restarts(self, restarts: Restarts | None) -> None:
        """Record the attempts that ended without progress."""
        if restarts is None:
            (self.path / "restarts.json").unlink(missing_ok=True)
        else:
            write_json(self.path / "restarts.json", restarts, durable=False)

    def runner(self) -> int | None:
        """Return the process that runs the job, None if there is none; 0 if its id is not known yet."""
        return locked_by(self.lock)


class ClusterDirectory:
    """A cluster directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.key = path / "agent.key"
        self.lock = path / "agent.lock"
        self.requests = path / "requests"
        """The directory with the socket of the agent."""
        self.log = path / "agent.log"
        self.statistics_lock = path / "statistics.lock"
        self.statistics_log = path / "statistics.log"

    def create(self) -> None:
        """Create the directory if it does not exist.

        Raises:
            FsqlError: E632, if it cannot be created, or another version of fsql created it.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / "jobs").mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise system_error(self.path, error) from None
        if self.cluster() is None:
            write_json(self.path / "cluster.json", Cluster(secrets.token_hex(8), __version__))

    def cluster(self) -> Cluster | None:
        """Return the description of the cluster, None if the directory has none.

        Raises:
            FsqlError: E632, if it is of another format.
        """
        found = read_json(self.path / "cluster.json", Cluster)
        if found is not None and found.format != FORMAT:
            reason = f"its format is {found.format}, and this version of fsql reads {FORMAT}"
            raise file_error(self.path / "cluster.json", reason)
        return found

    def agent(self) -> int | None:
        """Return the process id of the agent, None if none runs."""
        return locked_by(self.lock)

    def address(self) -> AgentAddress | None:
        """Return the agent that listens; it may have ended."""
        return read_json(self.path / "agent.json", AgentAddress)

    def set_address(self, address: AgentAddress) -> None:
        """Record that the agent listens."""
        write_json(self.path / "agent.json", address, durable=False)

    def connections(self) -> Connections:
        """Return the connections of jobs that are deployed without their own.

        Raises:
            FsqlError: E632, if they cannot be read.
        """
        return read_json(self.path / "connections.json", Connections) or Connections()

    def set_connections(self, connections: Connections) -> None:
        """Record the connections of jobs that are deployed from now on without their own."""
        write_json(self.path / "connections.json", connections)

    def statistics_settings(self) -> StatisticsSettings:
        """Return which collector computes statistics.

        Raises:
            FsqlError: E632, if it cannot be read.
        """
        return read_json(self.path / "statistics.json", StatisticsSettings) or StatisticsSettings()

    def set_statistics_settings(self, settings: StatisticsSettings) -> None:
        """Record which collector computes statistics."""
        write_json(self.path / "statistics.json", settings)

    def page_settings(self) -> PageSettings:
        """Return whether the agent serves the page.

        Raises:
            FsqlError: E632, if it cannot be read.
        """
        return read_json(self.path / "page_settings.json", PageSettings) or PageSettings()

    def set_page_settings(self, settings: PageSettings) -> None:
        """Record whether the agent serves the page."""
        write_json(self.path / "page_settings.json", settings)

    def page_address(self) -> PageAddress | None:
        """Return the page that the agent serves."""
        return read_json(self.path / "page.json", PageAddress)

    def set_page_address(self, address: PageAddress | None) -> None:
        """Record the page that the agent serves."""
        if address is None:
            (self.path / "page.json").unlink(missing_ok=True)
        else:
            write_json(self.path / "page.json", address, durable=False)

    def jobs(self) -> Iterator[JobDirectory]:
        """Return the directories of all jobs that are deployed, by id."""
        for path in subdirectories(self.path / "jobs"):
            if (path / "deployment.json").exists():
                yield JobDirectory(path)

    def job_of(self, job_id: str) -> JobDirectory:
        """Return the directory of the job with an id."""
        return JobDirectory(self.path / "jobs" / job_id)

    def by_name(self) -> dict[str, tuple[JobDirectory, Deployment]]:
        """Return the jobs by name, sorted by name."""
        found = {}
        for job in self.jobs():
            deployment = job.deployment()
            found[deployment.name] = (job, deployment)
        return dict(sorted(found.items()))

    def find_job(self, name: str) -> tuple[JobDirectory, Deployment]:
        """Return the job with a name.

        Raises:
            FsqlError: E633, if there is none.
        """
        jobs = self.by_name()
        if name not in jobs:
            message = f'no job is deployed as "{name}"'
            near = near_name(name, jobs)
            helps = (() if near is None else (f'did you mean "{near}"?',)) + (
                (f"list the jobs: fsql list --dir {self.path}",)
                if self.cluster() is not None
                else (f"name a cluster directory with --dir or FSQL_DIR: {self.path} is none",)
            )
            raise FsqlError([Diagnostic("E633", message, helps=helps)])
        return jobs[name]


def find_directory(given: Path | None) -> ClusterDirectory:
    """Return the cluster directory to use, which need not exist.

    It is the one given, or that of the variable FSQL_DIR, or `.fsql` in the working directory or the nearest
    directory above that has one; if there is none, `.fsql` in the working directory.
    """
    configured = os.environ.get(VARIABLE)
    if given is None and configured:
        given = Path(configured)
    if given is not None:
        return ClusterDirectory(given.absolute())
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / DIRECTORY_NAME / "cluster.json").exists():
            return ClusterDirectory(directory / DIRECTORY_NAME)
    return ClusterDirectory(here / DIRECTORY_NAME)


def check_name(name: str, what: Literal["job", "machine"] = "job") -> None:
    """Check that a name is valid for a job or a machine.

    Raises:
        FsqlError: E634, if it is not.
    """
    if not _NAME.fullmatch(name):
        message = f'"{name}" cannot be the name of a {what}'
        raise FsqlError([Diagnostic("E634", message, helps=(CODES["E634"].fix,))])


def take_lock(path: Path) -> int | None:
    """Take a lock, and write the id of this process into its file; return None if another process holds it.

    The lock is held until the returned descriptor is closed, or the process ends.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    attempts = _LOCK_ATTEMPTS
    while not _is_locked_now(descriptor, fcntl.LOCK_EX):
        # Processes that only test the lock share it, which can last long on a busy machine.
        attempts -= not _is_locked_now(descriptor, fcntl.LOCK_SH)
        if not attempts:
            os.close(descriptor)
            return None
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(_LOCK_SECONDS)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _is_locked_now(descriptor: int, kind: int) -> bool:
    """Lock a file without waiting, and return whether that was possible."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def locked_by(path: Path) -> int | None:
    """Return the id of the process that holds a lock, None if none does, 0 if the id is not known yet."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        # A shared lock for a moment; a process that takes the lock at the same time tries again.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 32, 0).strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(descriptor)
    return None
