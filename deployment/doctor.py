"""Checks of a cluster directory and of this machine."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import time
from typing import TYPE_CHECKING, Final

from fsql import __version__
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.numbers import bytes_text
from fsql.compiler.records import dataclass
from fsql.deployment.client import ask_agent
from fsql.deployment.directory import locked_by
from fsql.deployment.machines import machines
from fsql.deployment.messages import Ping
from fsql.deployment.views import views
from fsql.runtime.drivers.java import OLDEST, find_java
from fsql.runtime.key_file import load_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.deployment.directory import ClusterDirectory

DISK_BYTES_MIN: Final = 1 << 30
OPEN_FILES_MIN: Final = 1024


@dataclass(frozen=True, slots=True)
class Check:
    """A check: its name, whether it has passed, the finding, and the remedy if it has not passed."""

    name: str
    passed: bool
    found: str
    remedy: str = ""


def checks(cluster: ClusterDirectory) -> Iterator[Check]:
    """Return the checks of a cluster directory and of this machine, in order."""
    path = cluster.path
    try:
        described = cluster.cluster()
    except FsqlError as error:
        yield Check("directory", passed=False, found=error.diagnostics[0].message)
        yield from _machine(path)
        yield _java(wanted=False)
        return
    if described is None:
        yield Check(
            "directory", passed=False, found=f"{path} is none", remedy=f"fsql up --dir {path}"
        )
        yield from _machine(path)
        yield _java(wanted=False)
        return
    yield Check("directory", passed=True, found=str(path))
    mode = stat.S_IMODE(path.stat().st_mode)
    private = not mode & 0o077
    yield Check("permissions", private, f"mode {mode:o}", "" if private else f"chmod 700 {path}")
    yield _key(cluster)
    yield _agent(cluster)
    yield from _machine(path)
    yield from _statistics(cluster)
    yield from _machines(cluster)
    yield from _jobs(cluster)


def _machine(path: Path) -> Iterator[Check]:
    """Check the disk of a path, or of its nearest directory that exists, and the limits of this machine."""
    existing = next(each for each in (path, *path.parents) if each.is_dir())
    free = shutil.disk_usage(existing).free
    enough = free >= DISK_BYTES_MIN
    yield Check(
        "disk", enough, f"{bytes_text(free)} free", "" if enough else "make room on the disk"
    )
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    many = limit == resource.RLIM_INFINITY or limit >= OPEN_FILES_MIN
    yield Check("open files", many, f"limit {limit}", "" if many else "raise it: ulimit -Hn 65536")


def _java(*, wanted: bool) -> Check:
    try:
        java = find_java()
    except FsqlError as error:
        found = f"no Java {OLDEST} or later, which Spark and ZooKeeper need"
        return Check("java", not wanted, found, error.diagnostics[0].helps[0] if wanted else "")
    return Check("java", passed=True, found=f"version {java.version} in {java.home}")


def _key(cluster: ClusterDirectory) -> Check:
    try:
        load_key(cluster.key)
    except FsqlError as error:
        first = error.diagnostics[0]
        remedy = first.helps[0] if first.helps else ""
        return Check("key", passed=False, found=first.message, remedy=remedy)
    return Check("key", passed=True, found="readable by its owner only")


def _agent(cluster: ClusterDirectory) -> Check:
    remedy = f"fsql up --dir {cluster.path}"
    if cluster.agent() is None:
        return Check("agent", passed=False, found="none runs", remedy=remedy)
    try:
        done = ask_agent(cluster, Ping(), seconds=5.0)
    except FsqlError as error:
        first = error.diagnostics[0]
        return Check("agent", passed=False, found=first.message, remedy=first.helps[0])
    same = done.version == __version__
    found = f"process {done.pid}, version {done.version}"
    return Check("agent", same, found, "" if same else "fsql down, then fsql up")


def _statistics(cluster: ClusterDirectory) -> Iterator[Check]:
    """Check that there is a Java runtime, and that the statistics service runs if it is requested."""
    try:
        wanted = cluster.statistics_settings().collector == "spark"
    except FsqlError as error:
        yield Check("statistics", passed=False, found=error.diagnostics[0].message)
        return
    yield _java(wanted=wanted)
    if not wanted:
        yield Check("statistics", passed=True, found="the built-in collector")
        return
    service = locked_by(cluster.statistics_lock)
    found = "the service does not run" if service is None else f"Spark, process {service}"
    remedy = f"read {cluster.statistics_log}" if service is None else ""
    yield Check("statistics", service is not None, found, remedy)


def _machines(cluster: ClusterDirectory) -> Iterator[Check]:
    """Check that the agents of other machines report, except for stopped ones."""
    for machine in machines(cluster):
        status = machine.status()
        if status is None:
            continue
        found, remedy = f"on {status.host}, version {status.fsql}", ""
        if not status.is_recent:
            seconds = time.time() - status.updated
            found = f"its agent on {status.host} has not reported for {seconds:.0f} s"
            remedy = f"on that machine: fsql up --machine {machine.name} --dir {cluster.path}"
        elif status.fsql != __version__:
            remedy = "install the same version of fsql on all machines"
        yield Check(f"machine {machine.name}", not remedy, found, remedy)


def _jobs(cluster: ClusterDirectory) -> Iterator[Check]:
    for view in views(cluster):
        name, state = view.deployment.name, view.state
        passed = state not in {"failed", "waiting"}
        yield Check(f"job {name}", passed, state, "" if passed else f"fsql status {name} --why")
    if not os.access(cluster.path, os.W_OK):
        yield Check(
            "directory", passed=False, found="not writable", remedy=f"chmod u+w {cluster.path}"
        )
