"""Jobs whose broker is killed, frozen and started again: their rows are in the topic once, in order."""

from __future__ import annotations

import json
import signal
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException

from fsql.connectors.kafka.client import Topic, partition_bounds
from fsql.tests.cli.commands import process
from fsql.tests.cluster.twin import wait_until
from fsql.tests.kafka.broker import Broker

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.kafka.server import KafkaServer

TABLE = (
    "CREATE TABLE {name} (p BIGINT, n BIGINT) WITH ('connector' = 'kafka', 'servers' = '{servers}',"
    " 'topic' = '{topic}'{options});\n"
)


class ChangingLeader:
    """A consumer whose first answers are that a partition has no leader."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)

    def get_watermark_offsets(self, *_: object, **__: object) -> tuple[int, int]:
        if self._errors:
            raise KafkaException(KafkaError(self._errors.pop(0)))
        return 3, 7


def test_a_partition_without_a_leader_is_asked_again() -> None:
    topic = Topic("127.0.0.1:1", "t", from_latest=False, ends=True, properties={})
    consumer = ChangingLeader(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
    assert partition_bounds(consumer, topic, 0) == (3, 7)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_rows_come_once_although_the_broker_is_killed(
    tmp_path: Path, server: KafkaServer, flags: tuple[str, ...]
) -> None:
    broker = Broker(server.servers)
    topic, target = broker.new_topic(), broker.new_topic()
    given = TABLE.format(name="t", servers=server.servers, topic=topic, options="")
    written = TABLE.format(name="w", servers=server.servers, topic=target, options="")
    script = tmp_path / "job.sql"
    script.write_text(given + written + "INSERT INTO w SELECT p, n FROM t;")
    sent: dict[int, list[int]] = defaultdict(list)

    def send(count: int) -> None:
        for number in range(count):
            partition = number % 3
            sent[partition].append(len(sent[partition]))
            row = f'{{"p":{partition},"n":{sent[partition][-1]}}}'
            broker.send(topic, row.encode(), partition=partition)

    def has_all_rows() -> bool:
        return len(broker.committed(target)) >= sum(map(len, sent.values()))

    with process("run", "-q", "--state", str(tmp_path / "state"), *flags, str(script)) as run:
        send(30)
        wait_until(has_all_rows, "all rows")  # a run does not start without its brokers
        for end in ("kill", "freeze", "kill"):
            send(300)
            if end == "kill":
                server.kill()
                server.start()
            else:
                server.freeze()
                server.thaw()
            send(30)
            wait_until(has_all_rows, "all rows")
        run.send_signal(signal.SIGINT)
    assert run.returncode == 130
    found: dict[int, list[int]] = defaultdict(list)
    for row in map(json.loads, broker.committed(target)):
        found[row["p"]].append(row["n"])
    assert found == sent
