"""Jobs that read a topic: killed while messages come, they write each row once."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.tests.cli.commands import fsql, process
from fsql.tests.cluster.twin import wait_until

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


METADATA = (
    "CREATE TABLE t (n BIGINT, place BIGINT METADATA FROM 'offset' VIRTUAL, topic STRING METADATA,"
    " part INT METADATA FROM 'partition', at TIMESTAMP(3) METADATA FROM 'timestamp',"
    " kind STRING METADATA FROM 'timestamp-type', headers MAP<STRING, BYTES> METADATA,"
    " key STRING METADATA, raw BYTES METADATA FROM 'key', twice AS n * 2, WATERMARK FOR at AS at)"
    " WITH ('connector' = 'kafka', 'servers' = '{servers}', 'topic' = '{topic}', 'ends' = 'latest'{options});"
)


def metadata_table(broker: Broker, topic: str, options: str = "") -> str:
    return METADATA.format(servers=broker.servers, topic=topic, options=options)


def test_metadata_of_messages(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    broker.send(topic, b'{"n":1}', timestamp=1_767_225_600_123, key=b'k "1"', partition=2)
    broker.send(
        topic,
        b' { "n" : 2 , "kafka:x": 0}',
        timestamp=1_767_225_601_000,
        headers=[("a", b"x"), ("b", None), ("a", b"\xff")],
        partition=2,
    )
    broker.send(topic, b"{ }", timestamp=1_767_225_602_000, key=b"", partition=2)
    script = tmp_path / "job.sql"
    script.write_text(
        metadata_table(broker, topic)
        + "SELECT n, place, topic, part, at, kind, headers, key, raw, twice FROM t;"
    )
    rest = f'"topic":"{topic}","part":2,"at":"2026-01-01T00:00:0'
    written = (
        f'{{"n":1,"place":0,{rest}0.123Z","kind":"CreateTime","headers":{{}},"key":"k \\"1\\"",'
        '"raw":"ayAiMSI=","twice":2}\n'
        f'{{"n":2,"place":1,{rest}1.000Z","kind":"CreateTime","headers":{{"a":"/w==","b":null}},"key":null,'
        '"raw":null,"twice":4}\n'
        f'{{"n":null,"place":2,{rest}2.000Z","kind":"CreateTime","headers":{{}},"key":"","raw":"","twice":null}}\n'
    )
    assert fsql("run", "-q", script) == (0, written, "")


def test_the_time_of_messages_is_event_time(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    for second in (0, 4, 11, 3, 25):
        broker.send(topic, b'{"n":%d}' % second, timestamp=1_767_225_600_000 + second * 1_000)
    script = tmp_path / "job.sql"
    script.write_text(
        metadata_table(broker, topic)
        + "SELECT window_end, COUNT(*) AS c, SUM(n) AS s FROM TUMBLE(t, at, INTERVAL '10' SECOND)"
        " GROUP BY window_start, window_end EMIT FINAL;"
    )
    assert fsql("run", "-q", script).out == (
        '{"window_end":"2026-01-01T00:00:10Z","c":2,"s":4}\n'
        '{"window_end":"2026-01-01T00:00:20Z","c":1,"s":11}\n'
        '{"window_end":"2026-01-01T00:00:30Z","c":1,"s":25}\n'
    )


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        (b"[1]", None, "the record is an array, not an object"),
        (b'{"n":1}', b"\xff", "0xff, is not UTF-8"),
        (b'{"n":1,"kafka:0:offset":7}', None, 'the key "kafka:0:offset" occurs twice'),
    ],
)
def test_malformed_messages_of_tables_with_metadata(
    tmp_path: Path, broker: Broker, value: bytes, key: bytes | None, reason: str
) -> None:
    topic, rejects = broker.new_topic(), tmp_path / "rejects.jsonl"
    broker.send(topic, value, key=key, timestamp=1_767_225_600_000)
    broker.send(topic, b'{"n":2}', timestamp=1_767_225_600_000)
    script = tmp_path / "job.sql"
    script.write_text(
        metadata_table(broker, topic, f", 'on_error' = 'reject', 'rejects_path' = '{rejects}'")
        + "SELECT n, place FROM t;"
    )
    result = fsql("run", "-q", script)
    assert (result.code, result.out) == (0, '{"n":2,"place":1}\n')
    assert json.loads(rejects.read_text())["reason"].endswith(reason)


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


def kill(run: subprocess.Popen[bytes]) -> None:
    """Kill a run, and wait for the end of the processes that it has started.

    They write what they have before they end.  A broker refuses that once the next run has begun; the
    simulated one does not.
    """
    started = []
    for pid in processes_below(run.pid):
        with suppress(ProcessLookupError):
            started.append(os.pidfd_open(pid))
    run.kill()
    for each in started:
        wait_readable([each], None)
        os.close(each)


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
