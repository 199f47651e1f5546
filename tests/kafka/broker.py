"""A broker as tests use it: topics of their own, and messages."""

from __future__ import annotations

import logging
from contextlib import closing
from itertools import count

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

PARTITIONS = 4
"""The number of partitions of each topic."""

_names = count()


class Broker:
    """A broker at an address that other processes reach."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._producer = Producer({"bootstrap.servers": servers, "logger": silent_logger()})
        self._admin = AdminClient({"bootstrap.servers": servers}, logger=silent_logger())

    def new_topic(self) -> str:
        """Create a topic; return its name, which no other test has."""
        name = f"topic{next(_names)}"
        for created in self._admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
            created.result(60)
        return name

    def send(
        self,
        topic: str,
        *values: bytes | None,
        partition: int = 0,
        key: bytes | None = None,
        timestamp: int = 0,
        headers: list[tuple[str, str | bytes | None]] | None = None,
    ) -> None:
        """Write messages to a partition; a timestamp is in milliseconds, 0 for the present."""
        for value in values:
            self._producer.produce(
                topic, value, key, partition, timestamp=timestamp, headers=headers
            )
        assert self._producer.flush(60) == 0

    def committed(self, topic: str) -> list[bytes]:
        """Return the values of a topic that are committed now, partition by partition."""
        settings = {
            "bootstrap.servers": self.servers,
            "logger": silent_logger(),
            "group.id": "tests",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
        values: dict[int | None, list[bytes]] = {each: [] for each in range(PARTITIONS)}
        with closing(Consumer(settings)) as consumer:
            consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
            reading = set(range(PARTITIONS))
            while reading:
                message = consumer.poll(60)
                assert message is not None
                if (error := message.error()) is None:
                    values[message.partition()].append(message.value() or b"")
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    reading.discard(message.partition() or 0)
        return [value for partition in values.values() for value in partition]


def silent_logger() -> logging.Logger:
    logger = logging.Logger("kafka")  # noqa: LOG001 - it belongs to one client
    logger.addHandler(logging.NullHandler())
    return logger
