"""A broker for tests: the one that the Kafka client simulates, at an address that other processes reach."""

from __future__ import annotations

import logging
from itertools import count

from confluent_kafka import Producer

PARTITIONS = 4
"""The number of partitions of each topic."""

_names = count()


class Broker:
    """A simulated broker; a topic exists from its first message on."""

    def __init__(self) -> None:
        self._broker = Producer({"test.mock.num.brokers": 1, "logger": _silent()})
        (broker,) = self._broker.list_topics(timeout=60).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"
        self._producer = Producer({"bootstrap.servers": self.servers, "logger": _silent()})

    def new_topic(self) -> str:
        """Return the name of a topic that no other test has."""
        name = f"topic{next(_names)}"
        self._producer.list_topics(name, timeout=60)
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


def _silent() -> logging.Logger:
    logger = logging.Logger("kafka")  # noqa: LOG001 - it belongs to one client
    logger.addHandler(logging.NullHandler())
    return logger
