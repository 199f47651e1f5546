"""Opens the coordination of a job: a file in its state directory, or ZooKeeper."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.job.description import JOB, parse_description
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.coordination.port import CoordinationError, CoordinationUnavailableError
from fsql.runtime.coordination.zookeeper.address import (
    CREDENTIALS_VARIABLE,
    Credentials,
    ZooKeeperAddress,
    find_credentials,
    parse_address,
)
from fsql.runtime.drivers.processes.job_state import embedded_coordination, has_begun
from fsql.runtime.hosts.job_state import LEASE_SECONDS, translate_persistent_errors

if TYPE_CHECKING:
    from fsql.job.description import JobDescription
    from fsql.runtime.coordination.port import Coordination
    from fsql.runtime.drivers.processes.job_state import OpenCoordination

CREDENTIALS: Final = "credentials-file"
"""The file in a state directory that names the file with the credentials for ZooKeeper."""


def job_address(description: JobDescription) -> ZooKeeperAddress | None:
    """Return the address of the job's data in ZooKeeper; None if coordination is in the state directory.

    Raises:
        FsqlError: E641, if the description has no address of ZooKeeper.
    """
    if description.coordination is None:
        return None
    return parse_address(description.coordination).below(description.job)


def job_coordination(description: JobDescription, credentials: Path | None) -> OpenCoordination:
    """Return a function that opens the coordination of a job.

    `credentials` is the file with the credentials for ZooKeeper.  If it is not given, those of the
    environment are used, or else those with which the job was last started.

    Raises:
        FsqlError: E641 or E643, if address or credentials cannot be used.
    """
    address = job_address(description)
    if address is None:
        return embedded_coordination(Path(description.state))
    file = credentials or _recorded_credentials(Path(description.state))
    return partial(open_zookeeper, address, find_credentials(address, file))


def record_credentials(state: Path, credentials: Path) -> None:
    """Record the file with the credentials, for commands that are given only the state directory."""
    path = state / CREDENTIALS
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(os.fsencode(credentials.absolute()))


def _recorded_credentials(state: Path) -> Path | None:
    if CREDENTIALS_VARIABLE in os.environ or not (state / CREDENTIALS).exists():
        return None
    return Path(os.fsdecode((state / CREDENTIALS).read_bytes()))


def open_zookeeper(
    address: ZooKeeperAddress, credentials: Credentials | None, *, create: bool
) -> Coordination:
    """Return a client of ZooKeeper, which connects when it is used."""
    # Importing it takes as long as all other imports of `fsql --help`.
    from fsql.runtime.coordination.zookeeper.driver import ZooKeeperCoordination

    return ZooKeeperCoordination(address, credentials, create=create)


def state_coordination(state: Path, *, read_only: bool = False) -> Coordination:
    """Return the coordination of the job in a state directory.

    Credentials are those of the environment, or else those with which the job was last started.

    Raises:
        FsqlError: E623, if the description of the job is damaged; E643, if access to ZooKeeper is refused.
        CoordinationError: if coordination cannot be used.
    """
    if is_in_zookeeper(state):
        description = parse_description((state / JOB).read_bytes())
        return job_coordination(replace(description, state=str(state)), None)(create=False)
    return EmbeddedCoordination(state / FILE, create=False, read_only=read_only)


def coordination_error(state: Path, error: CoordinationError) -> FsqlError:
    """Return the error for a command that cannot use the coordination of the job in a state directory."""
    try:
        with translate_persistent_errors():
            raise error
    except FsqlError as lasting:
        return lasting
    except CoordinationError:
        away = isinstance(error, CoordinationUnavailableError) and is_in_zookeeper(state)
    code = "E642" if away else "E614"
    message = f'the coordination of "{state}" cannot be used: {error}'
    return FsqlError([Diagnostic(code, message, helps=(CODES[code].fix,))])


def is_in_zookeeper(state: Path) -> bool:
    """Return whether the job in a state directory is coordinated by ZooKeeper.

    Raises:
        FsqlError: E623, if the description of the job is damaged.
    """
    if (state / FILE).exists() or not (state / JOB).exists():
        return False
    return parse_description((state / JOB).read_bytes()).coordination is not None


def check_coordination(opening: OpenCoordination, state: Path) -> None:
    """Check that the coordination of a job can be used now.

    Raises:
        FsqlError: E615, E642, E643.
    """
    try:
        with (
            translate_persistent_errors(),
            closing(opening(create=not has_begun(state))) as coordination,
        ):
            coordination.close_session(coordination.open_session(LEASE_SECONDS))
    except CoordinationUnavailableError as error:
        helps = (CODES["E642"].fix,)
        raise FsqlError([Diagnostic("E642", str(error), helps=helps)]) from None


def remove_coordination(address: ZooKeeperAddress, credentials: Path | None) -> None:
    """Delete the data of a job in ZooKeeper that is not continued, if ZooKeeper can be reached now."""
    from fsql.runtime.coordination.zookeeper.driver import ZooKeeperCoordination

    found = find_credentials(address, credentials)
    with (
        suppress(CoordinationError),
        closing(ZooKeeperCoordination(address, found, create=False)) as coordination,
    ):
        coordination.remove()


def forget_job(state: Path) -> None:
    """Delete the data in ZooKeeper of the job in a state directory, if ZooKeeper can be reached now."""
    with suppress(FsqlError):
        if is_in_zookeeper(state):
            address = job_address(parse_description((state / JOB).read_bytes()))
            assert address is not None
            remove_coordination(address, _recorded_credentials(state))
