"""Jobs that an agent keeps running: what they write, and what the commands say of them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.drivers.processes.process_role import processes_below, role_of
from fsql.tests.cli.commands import NUMBERS, fsql, process
from fsql.tests.cluster.twin import OUTPUTS, command_of, expected, script
from fsql.tests.deployment.cluster import kill

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster

COPY = NUMBERS + (
    "CREATE TABLE copy (n BIGINT) WITH ('connector' = 'file', 'path' = 'copy.jsonl');\n"
    "INSERT INTO copy SELECT n FROM numbers;\n"
)


def job(directory: Path, rate: int, count: int | None = None) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "job.sql"
    path.write_text(script(rate, count))
    return path


def test_a_job_survives_its_processes_and_the_agent(cluster: TestCluster, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    twin.mkdir()
    path = job(tmp_path / "work", 200)
    cluster.call("deploy", path, "--name", "words", "-w", "2", "--snapshot-ms", "200")
    cluster.wait_for_snapshot("words")
    cluster.kill_agent()
    status = cluster.status("words")
    assert (status["state"], status["why"][0]) == (
        "running",
        f"no agent runs, which would start the job again if it ends: fsql up --dir {cluster.path}",
    )
    cluster.kill_job("words")
    assert cluster.status("words")["state"] == "stopped"
    cluster.call("up")
    cluster.wait_for_rows("words", 1)
    cluster.call("restart", "words")
    lines = cluster.drain_later("words", path.parent / "lines.txt")
    written = {name: (path.parent / name).read_bytes() for name in OUTPUTS}
    assert written == expected(twin, lines)


def test_a_row_that_stops_a_job_stops_no_other(cluster: TestCluster, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    bad = tmp_path / "bad" / "bad.sql"
    bad.write_text(COPY)
    (tmp_path / "bad" / "numbers.jsonl").write_text('{"n":1}\n{"n":"x"}\n')
    good = job(tmp_path / "good", 400, 1200)
    cluster.call("deploy", good, "--name", "good")
    cluster.call("deploy", bad)
    status = cluster.wait_for_state("bad", "failed")
    assert status["error"][0]["code"] == "FSQL-E513"
    assert status["failures"] == 0
    said = cluster.say("status", "bad", "--why")
    failed = (
        '  why: it failed: FSQL-E513: malformed row of table "numbers": field "n": expected BIGINT,'
        f" found a string ({bad.with_name('numbers.jsonl')}:2 (byte 8))"
    )
    again = "  why: it is not restarted automatically: fsql restart bad"
    lines = said.out.splitlines()
    helps = [line for line in lines if line.startswith("  why: help: ")]
    assert helps
    assert lines[-2 - len(helps) :] == [failed, *helps, again]
    checked = json.loads(cluster.say("doctor", "--json").out)["checks"]
    assert [each["name"] for each in checked if not each["passed"]] == ["job bad"]
    cluster.call("restart", "bad")
    assert cluster.wait_for_state("bad", "failed")["error"][0]["code"] == "FSQL-E513"
    assert cluster.wait_for_state("good", "finished")["why"] == ["all results are written"]
    for command in ("stop", "restart"):
        assert cluster.say(command, "good").err == ("good has finished: all results are written\n")
    written = {name: (good.parent / name).read_bytes() for name in OUTPUTS}
    assert written == expected(tmp_path, 1200)


def test_stop_rename_and_drop(cluster: TestCluster, tmp_path: Path) -> None:
    path = job(tmp_path / "work", 100)
    plan = tmp_path / "words.plan"
    assert fsql("compile", "--quiet", path, "-o", plan).code == 0
    cluster.call("deploy", plan)
    cluster.wait_for_rows("words", 1)
    roles = [
        (each["role"], each["job"])
        for each in json.loads(cluster.call("ps", "--json").out)["processes"]
    ]
    assert roles == [
        ("agent", None),
        ("fork-server", None),
        ("job", "words"),
        ("fork-server", "words"),
        ("coordinator", "words"),
        ("worker", "words"),
    ]
    cluster.call("rename", "words", "counts")
    assert cluster.say("status", "words").err == (
        'error[FSQL-E633]: no job is deployed as "words"\n'
        f"  = help: list the jobs: fsql list --dir {cluster.path}\n"
    )
    cluster.call("stop", "counts")
    assert cluster.status("counts")["why"] == [
        "it was stopped, and continues with: fsql restart counts"
    ]
    events = [
        json.loads(line) for line in cluster.call("logs", "counts", "--json").out.splitlines()
    ]
    assert (events[0]["event"], events[-1]["outcome"]) == ("started", "stopped")
    [deployed] = list(cluster.directory.jobs())
    cluster.call("drop", "counts")
    assert not deployed.path.exists()
    assert json.loads(cluster.call("list", "--json").out) == {"jobs": []}


def test_a_job_that_cannot_listen_is_restarted_at_another_address(
    cluster: TestCluster, tmp_path: Path
) -> None:
    path = job(tmp_path / "work", 400)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        cluster.call("deploy", path, "--name", "words", "--listen", address, "--quiet")
        waiting = cluster.wait_for_state("words", "waiting")
        reason = f'the run cannot listen on "{address}": address already in use'
        # It waits for a second first; on a busy machine, that may be over before it is seen.
        assert re.fullmatch(
            rf"it ended (once|\d+ times) without progress: {re.escape(reason)}", waiting["why"][0]
        )
        cluster.call("restart", "words", "--listen", "tcp://127.0.0.1:*")
        cluster.wait_for_rows("words", 1)
        said = cluster.say("restart", "words", "--listen", "tcp://10.0.0.1:*")
        assert said.err.startswith("error[FSQL-E601]")


def test_names_are_checked(cluster: TestCluster, tmp_path: Path) -> None:
    path = tmp_path / "copy.sql"
    path.write_text(COPY)
    (tmp_path / "numbers.jsonl").write_text("")
    assert cluster.say("deploy", path, "--name", "../copy").err.splitlines()[0] == (
        'error[FSQL-E634]: "../copy" cannot be the name of a job'
    )
    cluster.call("deploy", path)
    cluster.call("deploy", path, "--name", "other")
    assert cluster.say("rename", "other", "copy").err.splitlines()[0] == (
        'error[FSQL-E634]: a job is deployed as "copy" already'
    )


def test_a_job_has_no_standard_streams(tmp_path: Path) -> None:
    path = tmp_path / "select.sql"
    path.write_text(NUMBERS + "SELECT n FROM numbers;\n")
    assert fsql("deploy", path, "--dir", tmp_path / "none").err.splitlines()[0] == (
        "error[FSQL-E635]: the script writes to standard output, which a deployed job does not have"
    )


def test_nothing_can_be_deployed_without_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "copy.sql"
    path.write_text(COPY)
    assert fsql("deploy", path, "--dir", tmp_path / "none").err.splitlines()[0] == (
        f'error[FSQL-E631]: no agent runs for the cluster directory "{tmp_path / "none"}"'
    )


@pytest.mark.parametrize("name", ["", "a b", "a/b", "..", "-a", "é", "x" * 65])
def test_names_are_checked_before_an_agent_is_asked(name: str, tmp_path: Path) -> None:
    path = tmp_path / "copy.sql"
    path.write_text(COPY)
    said = fsql("deploy", path, "--dry-run", f"--name={name}", "--dir", tmp_path / "none")
    first, help_ = said.err.splitlines()
    assert (said.code, said.out) == (1, "")
    assert first == f'error[FSQL-E634]: "{name}" cannot be the name of a job'
    assert help_ == f"  = help: {CODES['E634'].fix}"


def test_a_machine_without_an_agent_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "copy.sql"
    path.write_text(COPY)
    machines = ("--workers", "3", "--on", "m3=1", "--on", "m2=1")
    arguments = ("deploy", path, "--dry-run", *machines, "--dir", tmp_path / "none")
    assert (
        fsql(*arguments, "--listen", "tcp://127.0.0.1:7401").err
        == "".join(
            f"warning: no agent of machine {name} has reported, so its workers do not run yet;"
            f" on that machine: fsql up --machine {name}\n"
            for name in ("m2", "m3")
        )
        + "copy would be a new job\n"
    )


def test_a_cluster_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    assert fsql("up", "--dir", path).err == (
        f'error[FSQL-E632]: "{path}" cannot be used: file exists\n'
        "  = help: Correct the permissions, or use another directory with `--dir`.\n"
    )


def test_an_edited_deployment_is_refused(tmp_path: Path) -> None:
    job_path = tmp_path / "jobs" / "1"
    job_path.mkdir(parents=True)
    (job_path / "deployment.json").write_text('{"id": 1}')
    assert fsql("list", "--dir", tmp_path).err.splitlines()[0] == (
        f'error[FSQL-E632]: "{job_path / "deployment.json"}" cannot be used:'
        " Expected `str`, got `int` - at `$.id`"
    )


def test_the_directory_is_private(cluster: TestCluster) -> None:
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (cluster.path, *sorted(cluster.path.iterdir()))
    }
    assert modes == {
        "cluster": 0o700,
        "agent.json": 0o600,
        "agent.key": 0o600,
        "agent.lock": 0o600,
        "agent.log": 0o600,
        "cluster.json": 0o600,
        "jobs": 0o700,
        "requests": 0o700,
    }


def test_agents_and_jobs_are_forks(cluster: TestCluster, tmp_path: Path) -> None:
    """They import nothing, show their commands, and lead their own sessions; a job outlives its parents."""
    path, agent = cluster.path, cluster.directory.agent()
    assert agent
    assert command_of(agent)[0] == f"fsql agent --dir {path}"
    cluster.call("deploy", job(tmp_path / "work", 400), "--name", "words")
    cluster.wait_for_rows("words", 1)
    [found] = cluster.directory.jobs()
    runner = found.runner()
    assert runner
    assert command_of(runner)[0] == f"fsql job {found.path}"
    assert [os.getsid(each) for each in (agent, runner)] == [agent, runner]
    kill(next(each for each in processes_below(agent) if role_of(each) == "fork-server"))
    cluster.call("stop", "words")
    cluster.call("restart", "words")
    lines = cluster.drain_later("words", tmp_path / "work" / "lines.txt")
    written = {name: (tmp_path / "work" / name).read_bytes() for name in OUTPUTS}
    assert written == expected(tmp_path, lines)
    cluster.call("down")
    log = cluster.directory.log.read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in log][1:] == [
        *("deploy words", "stop words", "start words", "stop words", "down", "agent ends"),
    ]


def test_logs_are_followed(cluster: TestCluster, tmp_path: Path) -> None:
    cluster.call("deploy", job(tmp_path / "work", 100), "--name", "words")
    cluster.wait_for_state("words", "running")
    following = process(
        "logs", "words", "--follow", "--lines", "1", "--json", "--dir", cluster.path, bufsize=0
    )
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["event"] in {"phase", "warning", "output"}
    cluster.call("stop", "words")
    events = [json.loads(following.stdout.readline())]
    while events[-1]["event"] != "ended":
        events.append(json.loads(following.stdout.readline()))
    assert events[-1]["outcome"] == "stopped"
    following.send_signal(signal.SIGINT)
    following.communicate()
    assert following.returncode == 130
