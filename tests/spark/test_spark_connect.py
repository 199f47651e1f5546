"""Masters sc://HOST:PORT: a Spark Connect server, without Java in the process of the command."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
import pytest

from fsql.deployment.directory import ClusterDirectory, Deployment, take_lock
from fsql.optimizer.collectors import built_in
from fsql.optimizer.collectors.profile_file import read_profile
from fsql.optimizer.collectors.written_results import newest_statistics, written_interval
from fsql.runtime.drivers.java import find_java
from fsql.runtime.drivers.spark.session import _home_for_spark
from fsql.tests.cli.commands import fsql, process
from fsql.tests.deployment.conftest import cluster
from fsql.tests.queries.examples import EXAMPLES
from fsql.tests.spark.processes import is_running, slow_script_in, wait_until
from fsql.tests.spark.test_spark_profile import live_windows, without_times
from fsql.tests.unit.optimizer.recorded import record
from fsql.tests.unit.optimizer.test_profile import windows_over, write_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.tests.deployment.cluster import TestCluster

__all__ = ["cluster"]  # a fixture

_LOGGING: Final = """rootLogger.level = warn
rootLogger.appenderRef.log.ref = log
appender.log.type = Console
appender.log.name = log
appender.log.target = SYSTEM_ERR
appender.log.layout.type = PatternLayout
appender.log.layout.pattern = %p %c{1}: %m%n%ex
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
"""


def _end_with_tests() -> None:
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server on a free port of the loopback, and return its URL."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "log4j2.properties").write_text(_LOGGING)
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.python.daemon.module": "fsql.job.spark_daemon",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={folder}/log4j2.properties"
        f" -Djava.io.tmpdir={folder}",
    }
    launcher = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    flags = [part for each in settings.items() for part in ("--conf", "=".join(each))]
    log = folder / "server.log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            [launcher, "--class", name, *flags, "spark-internal"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=os.environ
            | {
                "JAVA_HOME": str(_home_for_spark(find_java(), folder)),
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONSAFEPATH": "1",
                "SPARK_CONNECT_MODE": "0",
            },
            preexec_fn=_end_with_tests,  # noqa: PLW1509 - it only calls the kernel
        )
    try:
        started = re.compile(r"server started at: 127\.0\.0\.1:(\d+)")
        wait_until(lambda: started.search(log.read_text()) or running.poll() is not None)
        found = started.search(log.read_text())
        assert found is not None, log.read_text()
        yield f"sc://127.0.0.1:{found[1]}"
    finally:
        running.kill()
        running.wait()


@pytest.fixture(scope="module")
def nowhere() -> Iterator[str]:
    """Return the URL of a port at which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"sc://127.0.0.1:{bound.getsockname()[1]}"


def say(*arguments: str | Path) -> tuple[int, str, str]:
    """Call a command in a process of its own, without Java."""
    command = process(*arguments, JAVA_HOME="/nowhere", PATH="/nowhere")
    out, err = command.communicate()
    return command.returncode, out.decode(), err.decode()


def a_state(folder: Path) -> Path:
    """Return the state directory of a job that has run, with recorded statistics."""
    run = fsql("run", "-q", EXAMPLES["word_count"].copy_to(folder), "--state", folder / "state")
    assert run.code == 0, run.err
    record(folder / "state", intervals=12)
    return folder / "state"


@pytest.mark.cluster
@pytest.mark.slow
def test_statistics_are_those_of_the_built_in_collector(server: str, tmp_path: Path) -> None:
    state = a_state(tmp_path)
    expected = fsql("stats", "--state", state, "--json")
    on_spark = say("stats", "--state", state, "--json", "--spark", "--master", server)
    assert on_spark == expected
    assert all(rows for name, rows in json.loads(expected.out).items() if name != "problems")


def test_a_service_serves_running_jobs(server: str, tmp_path: Path) -> None:
    cluster = ClusterDirectory(tmp_path)
    cluster.create()
    job = cluster.job_of("a")
    job.state.mkdir(parents=True)
    job.set_deployment(Deployment("a", "a", 2, 1000, None, "refuse", "running", 0.0))
    record(job.state)
    lock = take_lock(job.lock)
    assert lock is not None
    try:
        service = process("stats", "serve", "--dir", tmp_path, "--master", server)
        wait_until(lambda: written_interval(job.state) >= 0 or service.poll() is not None)
        service.send_signal(signal.SIGTERM)
        out, err = service.communicate()
    finally:
        os.close(lock)
    assert (out, service.returncode) == (b"", 0)
    said = [re.sub(r"^.{19} |[\d.]+ s", "", line) for line in err.decode().splitlines()]
    interval = written_interval(job.state)
    assert said == [
        f"Spark serves {tmp_path} after ",
        "the first collection is prepared after ",
        f"job a: results of interval {interval} in ",
        "the statistics service ends",
    ]
    assert newest_statistics(job.state) == built_in.collect(job.state)


def test_a_profile_is_that_of_the_built_in_collector(server: str, tmp_path: Path) -> None:
    write_input(tmp_path / "in", "parquet")
    script = tmp_path / "s.sql"
    script.write_text(windows_over(tmp_path / "in", "parquet").script.source.text)
    here, there, table = tmp_path / "here", tmp_path / "there", tmp_path / "table"
    assert fsql("stats", "profile", script, "-o", here).code == 0
    flags = ("--spark", "--master", server)
    code, _, err = say("stats", "profile", script, "-o", there, *flags)
    assert code == 0, err
    assert without_times(read_profile(there)) == without_times(read_profile(here))
    script.write_text(live_windows())
    of_spark = ("--table", f"t=parquet.`file://{tmp_path / 'in'}`", "-o", table)
    code, _, err = say("stats", "profile", script, *flags, *of_spark)
    assert code == 0, err
    assert read_profile(table).bins == read_profile(here).bins


def test_a_run_writes_the_expected_files(server: str, tmp_path: Path) -> None:
    example = EXAMPLES["change_data"]
    script = example.copy_to(tmp_path)
    assert say("run", script, "--engine=spark", "--master", server, "-q", "-w", "3") == (0, "", "")
    written = {path.name: path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))}
    assert written == example.expected


@pytest.mark.cluster
@pytest.mark.slow
def test_a_job_begins_after_its_history_unless_a_signal_comes(
    cluster: TestCluster, server: str, tmp_path: Path
) -> None:
    flags = ("--dir", cluster.path, "--bootstrap", "--master", server)
    script = slow_script_in(tmp_path)
    deploy = process("deploy", script, "--functions", tmp_path / "functions", *flags)
    wait_until(lambda: (tmp_path / "marker").exists() or deploy.poll() is not None)
    deploy.send_signal(signal.SIGTERM)
    assert (deploy.communicate(), deploy.returncode) == ((b"", b""), 143)
    assert json.loads(cluster.call("list", "--json").out)["jobs"] == []
    example = EXAMPLES["bank_transfers"]
    code, _, err = say("deploy", example.copy_to(tmp_path), "--name", "bank", *flags)
    assert code == 0, err
    cluster.wait_for_state("bank", "finished")
    written = {name: (tmp_path / name).read_text() for name in example.expected}
    assert written == example.expected


def test_a_signal_ends_a_run_and_its_tasks(server: str, tmp_path: Path) -> None:
    script = slow_script_in(tmp_path)
    flags = ("--functions", tmp_path / "functions", "--engine=spark", "--master", server, "-q")
    run = process("run", script, *flags)
    wait_until(lambda: (tmp_path / "marker").exists() or run.poll() is not None)
    run.send_signal(signal.SIGINT)
    assert (run.communicate(), run.returncode) == ((b"", b""), 130)
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    of_task = int((tmp_path / "marker").read_text())
    wait_until(lambda: not is_running(of_task))


def test_a_server_that_is_not_there(nowhere: str, tmp_path: Path) -> None:
    code, out, err = say("stats", "--state", a_state(tmp_path), "--spark", "--master", nowhere)
    first, why, advice = err.splitlines()
    assert (code, out, first) == (1, "", "error[FSQL-E661]: Spark has failed")
    assert re.fullmatch(r'  = note: "failed to connect to .*Connection refused"', why)
    assert advice == f"  = help: start a Spark Connect server at {nowhere}, or correct the URL"


def test_an_error_of_spark_names_the_server(server: str, tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text(live_windows())
    table = ("--table", "t=parquet.`/nowhere`")
    code, _, err = say("stats", "profile", script, "--spark", "--master", server, *table)
    first, why, advice = err.splitlines()
    assert (code, first) == (1, "error[FSQL-E661]: Spark has failed")
    assert "[PATH_NOT_FOUND]" in why
    assert advice == f"  = help: see the log of the Spark Connect server {server}"


def test_packages_that_are_missing_are_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsql.runtime.drivers.spark.connect.find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    script, written = EXAMPLES["word_count"].copy_to(tmp_path), tmp_path / "counts.jsonl"
    written.write_text("of an earlier run\n")
    master = "sc://127.0.0.1:1"
    error = (
        "error[FSQL-E663]: Spark Connect needs packages that are not installed:"
        " grpcio, grpcio-status, googleapis-common-protos, zstandard\n"
        "  = help: install fsql with the extra connect: pip install 'fsql[connect]'\n"
    )
    for command in (
        ("run", script, "--engine=spark", "--overwrite", "-q", "--master", master),
        ("stats", "profile", script, "--spark", "--master", master),
        ("up", "--dir", "none", "--stats", "spark", "--stats-master", master),
        ("stats", "serve", "--dir", "cluster", "--master", master),
    ):
        said = fsql(*command)
        assert (said.code, said.out, said.err) == (1, "", error)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert written.read_text() == "of an earlier run\n"
    assert not (tmp_path / "none").exists()
