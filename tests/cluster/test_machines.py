"""Workers on another machine, with CURVE keys: the same bytes as in one process, also when one is killed."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from zmq.utils import z85

from fsql.runtime.drivers.curve.keys import NodeKeys, authorize_key, create_keys
from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.tests.cluster.machines import Machine, connected_machines
from fsql.tests.cluster.test_joining import join_line
from fsql.tests.cluster.twin import (
    command_of,
    difference,
    has_open_store,
    wait_until,
)
from fsql.tests.command_server import command_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    with connected_machines(2) as (first, second):
        yield first, second


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """Return the key directories of two machines, of which the first does not know the second."""
    directories = (tmp_path / "keys1", tmp_path / "keys2")
    first, _ = (create_keys(directory) for directory in directories)
    authorize_key(directories[1], "first", first.public.hex())
    return directories


def authorize_second(keys: tuple[Path, Path]) -> None:
    authorize_key(keys[0], "second", NodeKeys(keys[1]).own.public.hex())


def start(twin: Twin, machine: Machine, keys: Path, workers: int, joining: int) -> list[str]:
    """Start a run on a machine; return the command that it prints for workers."""
    twin.prefix = machine.prefix
    listen = ("--listen", f"tcp://{machine.address}:*", "--keys", str(keys))
    twin.start(workers, "--joining", str(joining), *listen)
    command = join_line(twin)
    assert command[-2:] == ["--keys", str(keys)]
    return command[:-1]


class Workers:
    """Workers of a second machine; none survives the test."""

    def __init__(self, machine: Machine, command: list[str], keys: Path, log: Path) -> None:
        self._prefix, self._command = machine.prefix, [*command, str(keys)]
        self._log = log
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *flags: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            command = [*self._command, *flags]
            process = command_process(command, prefix=self._prefix, stderr=log)
        self.processes.append(process)
        return process

    def said(self) -> str:
        return self._log.read_text()


def secrets_in(texts: list[bytes], keys: tuple[Path, Path]) -> list[bytes]:
    """Return the texts that have a secret key in them, in any of its forms."""
    secrets = [NodeKeys(directory).own.secret for directory in keys]
    forms = [form for key in secrets for form in (key, key.hex().encode(), z85.encode(key))]
    return [text for text in texts if any(form in text for form in forms)]


def test_a_worker_of_another_machine_is_killed_and_no_byte_is_different(
    new_twin: Callable[[], Twin],
    right: dict[str, bytes],
    machines: tuple[Machine, Machine],
    keys: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    authorize_second(keys)
    twin = new_twin()
    command = start(twin, machines[0], keys[0], 3, 2)
    workers = Workers(machines[1], command, keys[1], tmp_path / "said")
    try:
        killed, _ = workers.start(), workers.start()
        wait_until(twin.advances, "output")
        wait_until(lambda: has_open_store(killed.pid), "the first worker")
        assert twin.process is not None
        pids = [*processes_below(twin.process.pid), *(each.pid for each in workers.processes)]
        lines = [" ".join(command_of(pid)).encode() for pid in (twin.process.pid, *pids)]
        assert len(lines) == 6  # the launcher, its fork server, the coordinator, three workers
        assert f"tcp://{machines[0].address}:".encode() in b"".join(lines)
        killed.kill()
        workers.start()
        assert twin.ended() == 0, twin.errors()
        assert [each.wait() for each in workers.processes] == [-9, 0, 0], workers.said()
    finally:
        for each in workers.processes:
            each.kill()
            each.wait()
    assert difference(twin.written(), right) == ""
    assert "recovery: loading state" in twin.errors()
    assert "connection refused" not in twin.errors() + workers.said()
    assert "is not in" not in twin.errors() + workers.said()
    files = [path.read_bytes() for path in twin.directory.rglob("*") if path.is_file()]
    assert secrets_in([*lines, *files, workers.said().encode()], keys) == []


def test_a_machine_that_is_not_in_the_list_is_refused_until_it_is(
    new_twin: Callable[[], Twin],
    right: dict[str, bytes],
    machines: tuple[Machine, Machine],
    keys: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    twin = new_twin()
    command = start(twin, machines[0], keys[0], 2, 1)
    workers = Workers(machines[1], command, keys[1], tmp_path / "said")
    fingerprint = NodeKeys(keys[1]).own.fingerprint
    refused = (
        f"warning: connection from {machines[1].address} refused: "
        f"its key {fingerprint} is not in {keys[0] / 'authorized'}\n"
    )
    try:
        while refused not in twin.errors():  # on a busy machine, one may end before it connects
            stranger = workers.start("--timeout", "2")
            assert stranger.wait() == 1
        assert "error[FSQL-E604]: no message from tcp://" in workers.said()
        assert "Traceback" not in twin.errors() + workers.said()
        assert twin.written_bytes() == 0
        authorize_second(keys)
        workers.start()
        assert twin.ended() == 0, twin.errors()
        assert workers.processes[-1].wait() == 0, workers.said()
    finally:
        for each in workers.processes:
            each.kill()
            each.wait()
    assert difference(twin.written(), right) == ""


def test_a_run_listens_at_the_named_address_only(
    new_twin: Callable[[], Twin], machines: tuple[Machine, Machine], keys: tuple[Path, Path]
) -> None:
    authorize_second(keys)
    twin = new_twin()
    start(twin, machines[0], keys[0], 2, 1)
    wait_until(lambda: bool(twin.pids("worker")), "its own worker")
    listening = subprocess.run(
        [*machines[0].prefix, "cat", "/proc/net/tcp", "/proc/net/tcp6"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split() for line in listening.splitlines()]
    hosts = {row[1].partition(":")[0] for row in rows if len(row) > 3 and row[3] == "0A"}
    named = "".join(f"{int(part):02X}" for part in reversed(machines[0].address.split(".")))
    assert named in hosts
    if machines[0].prefix:  # nobody else listens in a namespace
        assert hosts <= {named, "0100007F"}
    twin.shut_down()


def test_without_keys_no_address_off_the_loopback_is_used(
    new_twin: Callable[[], Twin], machines: tuple[Machine, Machine], keys: tuple[Path, Path]
) -> None:
    twin = new_twin()
    twin.prefix = machines[0].prefix
    twin.start(2, "--listen", f"tcp://{machines[0].address}:*")
    assert twin.ended() == 1
    assert twin.errors() == (
        f'error[FSQL-E601]: address "tcp://{machines[0].address}:*" is not on the loopback of this '
        "machine\n"
        "  = note: connections between machines need CURVE keys, and none are given\n"
        "  = help: make keys with fsql keys init DIR, and give --keys DIR\n"
        '  = help: or use an address such as "tcp://127.0.0.1:5555"\n'
    )
    assert not twin.state.exists()
    (keys[0] / "node.key").chmod(0o644)
    twin.start(2, "--listen", f"tcp://{machines[0].address}:*", "--keys", str(keys[0]))
    assert twin.ended() == 1
    assert twin.errors().count("error[FSQL-E646]") == 1
