"""The messages of a topic as lines: which they are, and that each comes once although the job is killed."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import ExitStack, closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.context import ConnectorContext
from fsql.connectors.kafka.source import open_inflow, open_source
from fsql.connectors.live.front_log import LogWriter
from fsql.connectors.live.log_split import LogSplit
from fsql.connectors.live.time_bounds import BoundOptions
from fsql.connectors.settings import settings_of
from fsql.formats.text.decoder import TextDecoder
from fsql.tests.kafka.broker import PARTITIONS
from fsql.tests.unit.connectors.follow_jobs import available
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.connectors.kafka.topic_inflow import TopicInflow
    from fsql.tests.kafka.broker import Broker

LARGE = 1 << 40
SECONDS = 0.05


def opened(base: Path, broker: Broker, topic: str, **options: str) -> TopicInflow:
    given = {"connector": "kafka", "servers": broker.servers, "topic": topic, **options}
    read = table(**given)
    settings = settings_of(read.options)
    return open_inflow(read, settings, ConnectorContext(base))


def whole(inflow: TopicInflow) -> bytes:
    """Return what an inflow has until its end, and close it."""
    read = b""
    with closing(inflow):
        while (data := inflow.read(LARGE, SECONDS)) != b"":
            read += data or b""
    return read


def error(base: Path, **options: str) -> str:
    """Return the error of a table that cannot be opened."""
    read = table(**{"connector": "kafka", "servers": "127.0.0.1:1", "topic": "t", **options})
    with pytest.raises(FsqlError) as caught:
        open_source(read, settings_of(read.options), ConnectorContext(base))
    (diagnostic,) = caught.value.diagnostics
    return f"{diagnostic.code}: {diagnostic.message}"


@pytest.mark.parametrize(
    ("options", "messages", "lines"),
    [
        (
            {},
            [(None, b'{"n":1}'), (b"k", b'{\n  "n": 2\n}'), (b"k", b""), (b"k", None)],
            b'{"n":1}\n{   "n": 2 }\n""\nnull\n',
        ),
        (
            {"changes": "upsert"},
            [
                (b'{"n":1}', b'{"n":1}'),
                (b'{"n":1}', None),
                (b'{\n"n":2}', None),
                (b"{}", None),
                (b"1", None),
                (None, None),
            ],
            b'{"n":1}\n{"op":"-D","n":1}\n{"op":"-D", "n":2}\n{"op":"-D",}\nnull\nnull\n',
        ),
        (
            {"changes": "upsert", "op_column": 'a"b'},
            [(b'{"n":1}', None)],
            b'{"a\\"b":"-D","n":1}\n',
        ),
        (
            {"format": "debezium-json", "changes": "upsert"},
            [(b'{"n":1}', b'{"op":"d"}'), (b'{"n":1}', None), (None, b'{"op":"c"}')],
            b'{"op":"d"}\n{"op":"c"}\n',
        ),
        (
            {"format": "text"},
            [(None, b"a"), (None, b""), (None, None), (None, b"b\nc")],
            b"a\n\n\nb\nc\n",
        ),
    ],
    ids=["json", "upsert", "op_column", "debezium", "text"],
)
def test_a_message_is_a_line(
    tmp_path: Path,
    broker: Broker,
    options: dict[str, str],
    messages: list[tuple[bytes | None, bytes | None]],
    lines: bytes,
) -> None:
    topic = broker.new_topic()
    for key, value in messages:
        broker.send(topic, value, key=key)
    assert whole(opened(tmp_path, broker, topic, ends="latest", **options)) == lines


def test_the_input_ends_where_the_topic_ended(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    broker.send(topic, b"1", b"2")
    broker.send(topic, b"3", partition=2)
    inflow = opened(tmp_path, broker, topic, ends="latest", format="text")
    broker.send(topic, b"4")
    assert sorted(whole(inflow).split()) == [b"1", b"2", b"3"]


def test_a_topic_without_messages_ends_at_once(tmp_path: Path, broker: Broker) -> None:
    assert whole(opened(tmp_path, broker, broker.new_topic(), ends="latest")) == b""


def test_a_job_that_starts_with_the_latest_skips_what_was_there(
    tmp_path: Path, broker: Broker
) -> None:
    topic = broker.new_topic()
    broker.send(topic, b"1")
    job = Job(tmp_path, broker, topic, start="latest")
    broker.send(topic, b"2")
    job.start()  # killed before it has read a message
    job.take(1)
    job.close()
    assert job.lines() == ["2"]


class Job:
    """A job that writes a topic to its log; what is killed loses what is not in the log."""

    def __init__(self, base: Path, broker: Broker, topic: str, **options: str) -> None:
        self._logs = base / "log"
        self._options = {"format": "text", **options}
        self._base, self._broker, self._topic = base, broker, topic
        self._opened = ExitStack()
        self.start()

    def start(self) -> None:
        """Start, or start again after being killed."""
        self.close()
        self._inflow = opened(self._base, self._broker, self._topic, **self._options)
        self._opened.callback(self._inflow.close)
        known_end = self._inflow.open_journal(self._logs)
        self._log = LogWriter(self._logs, LARGE, segment_bytes=200, known_end=known_end)
        self._opened.callback(self._log.close)
        self._inflow.resume(self._log)

    def close(self) -> None:
        """Close all; nothing is written."""
        self._opened.close()

    def step(self, bytes_max: int = LARGE) -> int:
        """Carry messages to the log; return how many lines that were."""
        data = self._inflow.read(bytes_max, SECONDS) or b""
        self._log.append(data)
        self._log.flush()
        return data.count(b"\n")

    def take(self, count: int) -> None:
        """Carry that many lines to the log."""
        while count > 0:
            count -= self.step()

    def step_in_part(self, share: float) -> None:
        """Be killed in the middle of a step, when a part of it can be seen already."""
        data = self._inflow.read(LARGE, SECONDS) or b""
        self._log.append(data[: int(len(data) * share)])
        self._log.flush()

    def lines(self) -> list[str]:
        """Return the rows of the log."""
        split = LogSplit("t", self._logs, lambda: TextDecoder(1000), BoundOptions())
        with closing(split.open()) as reader:
            return available(reader)


@pytest.mark.parametrize("seed", range(6))
def test_each_message_comes_once_although_the_job_is_killed(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)
    monkeypatch.setattr("fsql.connectors.live.piece_journal.RECORDS_MIN", 5)
    random = Random(seed)
    topic = broker.new_topic()
    sent: defaultdict[str, list[str]] = defaultdict(list)
    job = Job(tmp_path, broker, topic)
    seen: list[str] = []
    for step in range(12):
        for _ in range(random.randrange(3)):
            partition = random.randrange(PARTITIONS)
            values = [f"{partition} {step}.{n}" for n in range(random.randrange(1, 20))]
            broker.send(topic, *(value.encode() for value in values), partition=partition)
            sent[str(partition)] += values
        if random.random() < 0.5:
            job.step(random.randrange(5, 100))
        if random.random() < 0.5:
            job.step_in_part(random.random())
            job.start()
        now = job.lines()
        assert now[: len(seen)] == seen, "a line that was seen has changed"
        seen = now
    job.start()
    while len(seen) < sum(map(len, sent.values())):
        job.step()
        seen = job.lines()
    assert job.step() == 0
    job.close()
    read: defaultdict[str, list[str]] = defaultdict(list)
    for line in seen:
        read[line.split()[0]].append(line)
    assert read == sent


def test_messages_that_are_gone_are_an_error(tmp_path: Path, broker: Broker) -> None:
    topic, other = broker.new_topic(), broker.new_topic()
    broker.send(topic, b"1", b"2", b"3")
    broker.send(other, b"1")
    job = Job(tmp_path, broker, topic)
    job.take(3)
    job.close()
    with pytest.raises(FsqlError) as caught:
        Job(tmp_path, broker, other)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "E536",
        f"topic '{other}' cannot be read from offset 3 of partition 0: it has those from 0 to 0",
    )


def test_a_part_that_the_log_lacks_must_still_be_there(tmp_path: Path, broker: Broker) -> None:
    topic, other = broker.new_topic(), broker.new_topic()
    broker.send(topic, b"11", b"12", b"13")
    broker.send(other, b"21", b"22222222", b"3")
    job = Job(tmp_path, broker, topic)
    job.take(0)
    while not job.lines():
        job.step_in_part(0.5)
    job.close()
    with pytest.raises(FsqlError) as caught:
        Job(tmp_path, broker, other)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "E536",
        f"topic '{other}' cannot be read from offset 0 of partition 0: its messages have changed",
    )


def test_brokers_that_do_not_answer_are_an_error(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsql.connectors.kafka.client.TIMEOUT_SECONDS", 0.2)
    with pytest.raises(FsqlError) as caught:
        opened(tmp_path, broker, "t", servers="127.0.0.1:1")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E531"
    assert diagnostic.message.startswith('the Kafka brokers "127.0.0.1:1" do not answer: ')


def test_a_topic_that_does_not_exist_is_an_error(tmp_path: Path, broker: Broker) -> None:
    with pytest.raises(FsqlError) as caught:
        opened(tmp_path, broker, "missing")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.helps) == (
        "E531",
        "topic 'missing' cannot be used: Broker: Unknown topic or partition",
        ("create the topic, or correct the option 'topic'; fsql creates none",),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"ssl.ca.location", "line 1: a line is NAME=VALUE"),
        (
            b"# key\n\nbootstrap.servers = a:1",
            "line 3: property 'bootstrap.servers' cannot be set here",
        ),
        (b"ssl.engine.location=x.so", "line 1: property 'ssl.engine.location' cannot be set here"),
        (b"client.id=a\nclient.id=b", "line 2: property 'client.id' is set more than once"),
        (b"client.id=\xff", "line 1: the file is not UTF-8"),
    ],
)
def test_properties_that_are_not_valid(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "kafka.properties"
    path.write_bytes(text)
    assert error(tmp_path, properties="kafka.properties") == f'E534: "{path}", {message}'


def test_a_property_that_the_client_refuses(tmp_path: Path, broker: Broker) -> None:
    (tmp_path / "kafka.properties").write_text("client.nonsense=1\n")
    with pytest.raises(FsqlError) as caught:
        opened(tmp_path, broker, "t", properties="kafka.properties")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E534"
    assert '"client.nonsense"' in diagnostic.message


def test_without_the_client_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "confluent_kafka", None)
    assert error(tmp_path) == (
        "E531: connector 'kafka' needs the package confluent-kafka, which is not installed"
    )
