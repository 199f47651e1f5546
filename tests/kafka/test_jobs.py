"""Jobs that read a topic: killed while messages come, they write each row once."""

from __future__ import annotations

import json
import signal
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql, process
from fsql.tests.cluster.twin import wait_until
from fsql.tests.kafka.killed_runs import kill

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from fsql.tests.kafka.broker import Broker

TABLE = (
    "CREATE TABLE t (p BIGINT, n BIGINT) WITH ('connector' = 'kafka', 'servers' = '{servers}',"
    " 'topic' = '{topic}'{options});\n"
)


def table(broker: Broker, topic: str, options: str = "") -> str:
    return TABLE.format(servers=broker.servers, topic=topic, options=options)


def row(partition: int, number: int) -> bytes:
    return f'{{"p":{partition},"n":{number}}}'.encode()


def test_a_run_reads_a_topic_to_its_end(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    broker.send(topic, *(row(1, number) for number in range(100)), partition=1)
    broker.send(topic, row(0, 7))
    script = tmp_path / "job.sql"
    script.write_text(table(broker, topic, ", 'ends' = 'latest'") + "SELECT n FROM t WHERE p = 1;")
    lines = "".join(f'{{"n":{number}}}\n' for number in range(100))
    assert fsql("run", "-q", script) == (0, lines, "")


def test_a_message_that_is_malformed_stops_the_job(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    broker.send(topic, row(0, 1), b'{"p":0,\n"n":"x"}')
    script = tmp_path / "job.sql"
    script.write_text(table(broker, topic, ", 'ends' = 'latest'") + "SELECT n FROM t;")
    result = fsql("run", "-q", script)
    assert (result.code, result.out) == (3, '{"n":1}\n')
    assert result.err.startswith(
        'error[FSQL-E513]: malformed row of table "t": field "n": expected BIGINT, found a string\n'
        f" --> {topic}:2 (byte 14)\n"
    )


def written_to(broker: Broker, topic: str, tmp_path: Path) -> list[dict[str, int]]:
    """Return the rows of a topic, by a run that reads it."""
    script = tmp_path / "check.sql"
    script.write_text(table(broker, topic, ", 'ends' = 'latest'") + "SELECT p, n FROM t;")
    return [json.loads(line) for line in fsql("run", "-q", script).out.splitlines()]


def read_until(run: subprocess.Popen[bytes], due: dict[int, int]) -> None:
    """Read what a run prints until the rows that are `due` have come: a number of each partition."""
    assert run.stdout is not None
    while due:
        read = json.loads(run.stdout.readline())
        if read["n"] == due.get(read["p"]):
            del due[read["p"]]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_job_that_is_killed_has_each_row_once(
    tmp_path: Path, broker: Broker, flags: tuple[str, ...]
) -> None:
    topic, target, script = broker.new_topic(), broker.new_topic(), tmp_path / "job.sql"
    script.write_text(
        table(broker, topic) + "CREATE TABLE w (p BIGINT, n BIGINT) WITH ('connector' = 'kafka',"
        f" 'servers' = '{broker.servers}', 'topic' = '{target}');\n"
        "INSERT INTO w SELECT p, n FROM t; SELECT p, n FROM t;"
    )
    sent: dict[int, list[int]] = defaultdict(list)

    def send(count: int) -> None:
        for number in range(count):
            partition = number % 3
            sent[partition].append(len(sent[partition]))
            broker.send(topic, row(partition, sent[partition][-1]), partition=partition)

    def has_all_rows() -> bool:
        """Say whether the topic has as many rows; it may get them later than standard output."""
        rows = written_to(broker, target, tmp_path)
        return len(rows) >= sum(map(len, sent.values()))

    for attempt in range(3):
        with process("run", "-q", "--state", str(tmp_path / "state"), *flags, str(script)) as run:
            for _ in range(2):
                send(10)
                read_until(run, {partition: numbers[-1] for partition, numbers in sent.items()})
            if attempt < 2:
                kill(run)
            else:
                wait_until(has_all_rows, "all rows")
                run.send_signal(signal.SIGINT)
        if attempt < 2:
            send(5)
    written: dict[int, list[int]] = defaultdict(list)
    for read in written_to(broker, target, tmp_path):
        written[read["p"]].append(read["n"])
    assert written == sent


def test_what_a_job_writes_another_reads(tmp_path: Path, broker: Broker) -> None:
    topic, written = broker.new_topic(), broker.new_topic()
    broker.send(topic, *(row(number % 3, number) for number in range(30)))
    target = (
        "CREATE TABLE w (p BIGINT, n BIGINT, PRIMARY KEY (p) NOT ENFORCED) WITH ('connector' = 'kafka',"
        f" 'servers' = '{broker.servers}', 'topic' = '{written}'"
    )
    script = tmp_path / "write.sql"
    script.write_text(
        table(broker, topic, ", 'ends' = 'latest'") + f"{target});\n"
        "INSERT INTO w SELECT p, COUNT(*) AS n FROM t GROUP BY p HAVING COUNT(*) < 10 OR p = 2;"
    )
    assert fsql("run", "-q", script).code == 0
    script = tmp_path / "read.sql"
    script.write_text(f"{target}, 'changes' = 'upsert', 'ends' = 'latest');\nSELECT p, n FROM w;")
    result = fsql("run", "-q", script)
    relation: dict[int, int] = {}
    for line in result.out.splitlines():
        change = json.loads(line)
        if change["op"] in {"-U", "-D"}:
            del relation[change["p"]]
        else:
            relation[change["p"]] = change["n"]
    assert relation == {2: 10}
