"""Where an ensemble is, and how a client identifies itself to it."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

SCHEME: Final = "zookeeper://"
FORM: Final = "zookeeper://HOST:PORT/PATH"
CREDENTIALS_VARIABLE: Final = "FSQL_ZOOKEEPER_CREDENTIALS"
"""The environment variable with the credentials, used if no file is named."""

_PORT_MAX: Final = 65_535
_CREDENTIALS_BYTES_MAX: Final = 1024
_OWNER_ONLY: Final = 0o600
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password of ZooKeeper's digest scheme; neither is printed."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ZooKeeperAddress:
    """The servers of an ensemble, `HOST:PORT` each, and the path below which all data is stored."""

    servers: tuple[str, ...]
    path: str

    def __str__(self) -> str:
        """Return the address as it was written."""
        return f"{SCHEME}{','.join(self.servers)}{self.path}"

    def below(self, name: str) -> ZooKeeperAddress:
        """Return the address of a path below this one."""
        return ZooKeeperAddress(self.servers, f"{self.path}/{name}")

    @property
    def on_loopback(self) -> bool:
        """Return whether all servers are on this machine, by its loopback interface."""
        return all(_is_loopback(server.rpartition(":")[0]) for server in self.servers)


def is_zookeeper(address: str) -> bool:
    """Return whether an address is intended as that of an ensemble; it may be malformed."""
    return address.startswith(SCHEME)


def parse_address(text: str) -> ZooKeeperAddress:
    """Return the address that is written as `text`.

    Raises:
        FsqlError: E641, if it is not an address.
    """
    if not is_zookeeper(text):
        raise _address_error(text, f"it is not of the form {FORM}")
    servers, slash, path = text.removeprefix(SCHEME).partition("/")
    if "@" in servers:
        # What follows may be a password, so the address is not printed.
        message = "the address of ZooKeeper is refused: it contains credentials"
        helps = (f"write them into a file of mode 600, or into {CREDENTIALS_VARIABLE}",)
        raise FsqlError([Diagnostic("E641", message, helps=helps)])
    for server in servers.split(","):
        host, _, port = server.rpartition(":")
        if not _HOST.fullmatch(host) or not _is_port(port):
            raise _address_error(text, f'"{server}" is not of the form HOST:PORT')
    names = path.rstrip("/").split("/") if slash else [""]
    for name in names:
        if not _NAME.fullmatch(name) or set(name) == {"."}:
            reason = "it has no path" if names == [""] else f'"{name}" cannot be a part of its path'
            raise _address_error(text, reason)
    if names[0] == "zookeeper":
        raise _address_error(text, 'the path "/zookeeper" is ZooKeeper\'s own')
    return ZooKeeperAddress(tuple(servers.split(",")), "/" + "/".join(names))


def find_credentials(address: ZooKeeperAddress, file: Path | None) -> Credentials | None:
    """Return the credentials in a file, else those in the environment, if there are any.

    Raises:
        FsqlError: E643, if they cannot be used, or are needed and missing.
    """
    text = os.environ.get(CREDENTIALS_VARIABLE) if file is None else _read_private_file(file)
    if text is not None:
        origin = CREDENTIALS_VARIABLE if file is None else f'the file "{file}"'
        return _parse_credentials(text, origin)
    if not address.on_loopback:
        message = (
            f"{address} is not on the loopback, and no credentials are given:"
            " other users of the network could change the state of the job"
        )
        helps = (
            "name a file of mode 600 that contains USER:PASSWORD: --coordination-credentials FILE",
            f"or set {CREDENTIALS_VARIABLE}",
        )
        raise FsqlError([Diagnostic("E643", message, helps=helps)])
    return None


def _parse_credentials(text: str, origin: str) -> Credentials:
    user, colon, password = text.strip("\r\n").partition(":")
    if not (user and colon and password) or "\n" in password or "\0" in text:
        raise _credentials_error(f"{origin} does not contain USER:PASSWORD on one line")
    return Credentials(user, password)


def _read_private_file(path: Path) -> str:
    """Return the content of a file that only its owner may read.

    Raises:
        FsqlError: E643, if it is not there, or others may read it.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(_CREDENTIALS_BYTES_MAX + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _credentials_error(f'the file "{path}" cannot be read: {reason}') from None
    if status.st_uid != os.geteuid():
        raise _credentials_error(f'the file "{path}" belongs to another user')
    if stat.S_IMODE(status.st_mode) & ~_OWNER_ONLY:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        reason = f'the mode of the file "{path}" is {mode}, so that other users can read it'
        raise _credentials_error(reason, f"chmod 600 {path}")
    try:
        return content[:_CREDENTIALS_BYTES_MAX].decode()
    except UnicodeDecodeError:
        raise _credentials_error(f'the file "{path}" is not UTF-8') from None


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) <= _PORT_MAX


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def _address_error(text: str, reason: str) -> FsqlError:
    message = f'"{text}" is not an address of ZooKeeper: {reason}'
    return FsqlError([Diagnostic("E641", message, helps=(f"write {FORM}",))])


def _credentials_error(reason: str, *helps: str) -> FsqlError:
    message = f"the credentials for ZooKeeper cannot be used: {reason}"
    return FsqlError([Diagnostic("E643", message, helps=helps)])
