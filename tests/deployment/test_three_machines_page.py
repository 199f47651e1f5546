"""The commands of docs/operations.md for three machines with ZooKeeper and keys, each run in its order.

In between, a worker and the first machine are killed, and the output stays the same to the byte.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.curve.keys import authorize_key, create_keys
from fsql.tests.cluster.machines import connected_machines
from fsql.tests.cluster.twin import OUTPUTS, difference, expected, script
from fsql.tests.command_server import command_process
from fsql.tests.deployment import relay
from fsql.tests.deployment.cluster import TestCluster, kill, size_of
from fsql.tests.docs.pages import page_text, section
from fsql.tests.zookeeper.worlds import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.tests.cluster.machines import Machine

pytestmark = pytest.mark.cluster


def parts() -> list[list[list[str]]]:
    """Return the arguments of the commands of the section, in the groups in which they stand there."""
    text = section(page_text("docs/operations.md"), "### Three machines")
    groups = re.findall(r"(?:^    fsql .*\n)+", text, re.MULTILINE)
    return [[shlex.split(line)[1:] for line in group.splitlines()] for group in groups]


def done(machine: Machine, *arguments: str) -> str:
    """Run a command on a machine; return its standard output."""
    process = command_process(
        arguments, prefix=machine.prefix, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return str(out)


@contextmanager
def zookeeper(machine: Machine) -> Iterator[str]:
    """Run a server on a machine; yield its address, which other machines reach."""
    port, far = map(str, free_ports(2))
    server = ("-m", "fsql", "zookeeper", "--data", "zookeeper", "--port", port)
    reached = (str(Path(relay.__file__)), machine.address, far, port)
    with ExitStack() as stack:
        for arguments in (server, reached):
            command = [*machine.prefix, sys.executable, "-P", *arguments]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            stack.enter_context(process)
            stack.callback(process.send_signal, signal.SIGTERM)
            assert process.stdout is not None
            assert process.stdout.readline()  # it serves now
        yield f"{machine.address}:{far}"


def processes(cluster: TestCluster, machine: str) -> dict[str, int]:
    """Return the processes of a machine by role; "" is the first one."""
    found = json.loads(cluster.call("ps", "--json").out)["processes"]
    return {each["role"]: each["pid"] for each in found if (each["machine"] or "") == machine}


def wait_for_more(cluster: TestCluster, output: Path) -> None:
    """Wait until the job has written more."""
    size = size_of(output)
    cluster.wait("copy", lambda _: size_of(output) > size)


def test_the_commands_do_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSQL_DIR", raising=False)
    Path("copy.sql").write_text(script(300, None))
    Path("credentials").write_text("fsql:secret\n")
    Path("credentials").chmod(0o600)
    directories = [Path(f"keys{number}") for number in (1, 2, 3)]
    keys = [create_keys(directory).public.hex() for directory in directories]
    for own, directory in enumerate(directories):
        for other, key in enumerate(keys):
            if other != own:
                authorize_key(directory, f"machine{other + 1}", key)
    lines = tmp_path / "lines.txt"
    starts, takes_over, ends = parts()
    with (
        connected_machines(3) as machines,
        zookeeper(machines[2]) as servers,
        closing(TestCluster(tmp_path / ".fsql")) as cluster,
    ):
        first, second, third = machines
        known = {"ZOOKEEPER": servers, "ADDRESS1": first.address}
        known |= {"ADDRESS2": second.address, "ADDRESS3": third.address}

        def run(machine: Machine, arguments: list[str]) -> str:
            filled = (
                re.sub(r"\b[A-Z]+[1-3]?\b", lambda name: known[name[0]], each) for each in arguments
            )
            return done(machine, *filled)

        for machine, command in zip((first, second, third, first), starts, strict=False):
            run(machine, command)
        cluster.wait_for_snapshot("copy")
        assert "running" in run(first, starts[-1])
        # What a machine reports may be older than the snapshot.
        cluster.wait_until(lambda: "worker" in processes(cluster, "machine2"))
        worker = processes(cluster, "machine2")["worker"]
        kill(worker)
        cluster.wait_until(lambda: processes(cluster, "machine2").get("worker", worker) != worker)
        wait_for_more(cluster, lines)
        cluster.kill_agent()  # first, because it starts the others again
        for process in processes(cluster, "").values():
            kill(process)
        for command in takes_over:
            run(second, command)
        wait_for_more(cluster, lines)
        drain, *downs = ends
        run(second, drain)
        for machine, command in zip((third, second, second), downs, strict=True):
            run(machine, command)
    written = {name: (tmp_path / name).read_bytes() for name in OUTPUTS}
    (tmp_path / "right").mkdir()
    right = expected(tmp_path / "right", written["lines.txt"].count(b"\n"))
    assert difference(written, right) == ""
