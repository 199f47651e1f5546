"""A topic as a sink: the rules of sinks, and kills at every moment."""

from __future__ import annotations

from contextlib import closing, suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.kafka.client import Topic, topic_partitions
from fsql.connectors.kafka.row_messages import RowMessages
from fsql.connectors.kafka.topic_sink import TopicSink
from fsql.connectors.kafka.transaction_writer import TransactionWriter
from fsql.runtime.batch import END, START, Root
from fsql.runtime.sink import SinkLostError
from fsql.tests.conformance import sinks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.connectors.kafka.row_messages import RowMessage
    from fsql.tests.conformance.sinks import Subject
    from fsql.tests.kafka.broker import Broker

COLUMNS = (Column("n", BIGINT), Column("s", STRING))


class TopicSubject:
    durable = True

    def __init__(self, broker: Broker, folder: Path, key: tuple[int, ...] | None = None) -> None:
        self.topic = Topic(
            broker.servers, broker.new_topic(), from_latest=False, ends=True, properties={}
        )
        self.journal = folder / "positions" / "0"
        self.journal.parent.mkdir()
        self.table = SinkTable("out", COLUMNS, (), Changes.APPEND, key)

    def restarted(self) -> TopicSink:
        return TopicSink(self.topic, "out", RowMessages(self.table), self.journal)

    def stored_by_partition(self) -> list[list[bytes]]:
        """Return the values of the messages of each partition."""
        with closing(self.topic.connect(lambda _: None, reports_ends=True)) as consumer:
            partitions = topic_partitions(consumer, self.topic)
            consumer.assign([self.topic.at(partition, 0) for partition in partitions])
            found: list[list[bytes]] = [[] for _ in partitions]
            ended = 0
            while ended < len(partitions):
                message = consumer.poll(60)
                assert message is not None
                partition, value = message.partition(), message.value()
                if message.error() is not None:
                    ended += 1
                else:
                    assert partition is not None
                    assert value is not None
                    found[partition].append(value)
        return found

    def stored(self) -> bytes:
        first, *others = self.stored_by_partition()
        assert not any(others), "rows without a key are in one partition"
        return b"".join(line + b"\n" for line in first)


@pytest.mark.parametrize(
    "check", [*sinks.CHECKS, *sinks.DURABLE_CHECKS], ids=lambda check: check.__name__
)
def test_a_topic_keeps_the_rules(
    check: Callable[[Subject], None], broker: Broker, tmp_path: Path
) -> None:
    check(TopicSubject(broker, tmp_path))


class KilledError(Exception):
    """The process is killed here."""


@pytest.mark.parametrize("key", [None, (0,)], ids=["no key", "key"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_come_once_although_the_job_is_killed(
    broker: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    key: tuple[int, ...] | None,
) -> None:
    random = Random(seed)
    write = TransactionWriter._write

    def write_or_die(self: TransactionWriter, messages: list[RowMessage]) -> None:
        """Die in the middle of a transaction, or before its position is recorded.

        The simulated broker shows the rows of a transaction that is not committed.
        """
        if random.random() < 0.3:
            self._producer.begin_transaction()
            for message in random.sample(messages, random.randrange(len(messages) + 1)):
                self._produce(message, 0)
            self._producer.flush(60)
            raise KilledError
        write(self, messages)
        if random.random() < 0.3:
            raise KilledError

    monkeypatch.setattr(TransactionWriter, "_write", write_or_die)
    subject = TopicSubject(broker, tmp_path, key)
    for epoch in range(1, 100):
        last = subject.restarted()
        with suppress(SinkLostError), closing(last):
            sinks.run_to_end(last, epoch, seed=random.randrange(1000))
            break
    else:
        pytest.fail("it never came to the end")
    stored = subject.stored_by_partition()
    lines = [line for partition in stored for line in partition]
    assert sorted(lines) == sorted(sinks.expected().splitlines())
    assert epoch > 1


def test_messages_that_the_topic_has_lost_are_noticed(broker: Broker, tmp_path: Path) -> None:
    subject = TopicSubject(broker, tmp_path)
    with closing(subject.restarted()) as first:
        sinks.run_to_end(first, 1)
    subject.topic = Topic(
        broker.servers, broker.new_topic(), from_latest=False, ends=True, properties={}
    )
    with pytest.raises(FsqlError, match=r"E537: .* partition 0 has lost messages"):
        sinks.position_of(subject, sinks.opening(2, END))


def test_rows_of_other_jobs_are_not_taken_for_those_of_the_job(
    broker: Broker, tmp_path: Path
) -> None:
    subject = TopicSubject(broker, tmp_path)
    broker.send(subject.topic.name, b"other")
    with closing(subject.restarted()) as first:
        first.open(sinks.opening(1))
        broker.send(subject.topic.name, b"other")
        sinks.deliver_and_wait(first, sinks.bundle(0, 6))
    broker.send(subject.topic.name, b"other")
    assert sinks.position_of(subject, sinks.opening(2, START)) == Root(2, 0)
