"""The other machines of a cluster: the workers that each of them runs, and the reports of its agent.

    DIR/machines/NAME/     a machine whose agent runs workers of jobs
        settings.json      its keys and its address, as given to `fsql up --machine NAME`
        lock               held by its agent while it runs; contains its process id
        status.json        its processes, written every few seconds; removed when the agent is stopped
        workers.json       the workers that its agent has started, so that its next agent finds them
        log                the log of its agent and its workers
    DIR/jobs/ID/join.json  the address at which workers join the job, while it runs

All machines have the cluster directory at the same path.  The machine of the agent has no entry here.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.deployment.directory import check_name, locked_by
from fsql.deployment.files import read_json, subdirectories, write_json
from fsql.deployment.processes import ProcessView  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.deployment.directory import ClusterDirectory, JobDirectory

STATUS_SECONDS: Final = 2.0
"""How often the agent of a machine writes its status."""

SILENT_SECONDS: Final = 15.0
"""If the status is older, the agent does not run, or its machine cannot access the cluster directory."""


class Join(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The address at which workers join a job, and the file of the key.

    The address is that of the coordinator, or that of the job in ZooKeeper.
    """

    address: str
    key: str


class MachineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How workers of a machine find and authenticate the other nodes.

    `keys` is the directory of its CURVE keys, `listen` the address at which others reach its workers,
    `credentials` the file with the credentials for ZooKeeper.
    """

    keys: str | None = None
    listen: str | None = None
    credentials: str | None = None


class MachineStatus(msgspec.Struct, frozen=True):
    """The status that the agent of a machine reports; times are seconds since 1970."""

    host: str
    fsql: str
    updated: float
    processes: tuple[ProcessView, ...] = ()

    @property
    def is_recent(self) -> bool:
        """Return whether the agent still reports."""
        return time.time() - self.updated < SILENT_SECONDS


class StartedWorker(msgspec.Struct, frozen=True):
    """A worker that an agent has started: number `slot` of the workers of a job on the machine.

    `started` is when the process began, in ticks since the machine started.
    """

    job: str
    slot: int
    join: Join
    pid: int
    started: int


class StartedWorkers(msgspec.Struct, frozen=True):
    """The workers that an agent has started."""

    workers: tuple[StartedWorker, ...] = ()


class MachineDirectory:
    """The files of one machine."""

    def __init__(self, cluster: Path, name: str) -> None:
        self.name = name
        self.path = cluster / "machines" / name
        self.lock = self.path / "lock"
        self.log = self.path / "log"

    def create(self) -> None:
        """Create the directory if it does not exist."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def settings(self) -> MachineSettings:
        """Return its settings.

        Raises:
            FsqlError: E632, if they cannot be read.
        """
        return read_json(self.path / "settings.json", MachineSettings) or MachineSettings()

    def set_settings(self, settings: MachineSettings) -> None:
        """Record its settings."""
        write_json(self.path / "settings.json", settings)

    def status(self) -> MachineStatus | None:
        """Return the last report of its agent; None if there is none, or the agent was stopped."""
        return read_json(self.path / "status.json", MachineStatus)

    def set_status(self, status: MachineStatus | None) -> None:
        """Record a report of its agent; None when it is stopped."""
        if status is None:
            (self.path / "status.json").unlink(missing_ok=True)
        else:
            write_json(self.path / "status.json", status, durable=False)

    def workers(self) -> tuple[StartedWorker, ...]:
        """Return the workers that its agent has started."""
        found = read_json(self.path / "workers.json", StartedWorkers)
        return () if found is None else found.workers

    def set_workers(self, workers: tuple[StartedWorker, ...]) -> None:
        """Record the workers that its agent has started."""
        write_json(self.path / "workers.json", StartedWorkers(workers), durable=False)

    def agent(self) -> int | None:
        """Return the process id of its agent, None if none runs."""
        return locked_by(self.lock)

    @property
    def reports(self) -> bool:
        """Return whether its agent runs, according to its reports."""
        status = self.status()
        return status is not None and status.is_recent


def machines(cluster: ClusterDirectory) -> Iterator[MachineDirectory]:
    """Yield the machines that have or had an agent, by name."""
    for path in subdirectories(cluster.path / "machines"):
        yield MachineDirectory(cluster.path, path.name)


def machine_of(cluster: ClusterDirectory, name: str) -> MachineDirectory:
    """Return a machine, which need not exist yet.

    Raises:
        FsqlError: E634, if a machine cannot have the name.
    """
    check_name(name, "machine")
    return MachineDirectory(cluster.path, name)


def join_of(job: JobDirectory) -> Join | None:
    """Return where workers join a job; None if it does not run, or has no workers that join."""
    return read_json(job.path / "join.json", Join)


def set_join(job: JobDirectory, join: Join | None) -> None:
    """Record where workers join a job; None when it ends."""
    if join is None:
        (job.path / "join.json").unlink(missing_ok=True)
    else:
        write_json(job.path / "join.json", join, durable=False)


def host_name() -> str:
    """Return the host name of this machine."""
    return os.uname().nodename
