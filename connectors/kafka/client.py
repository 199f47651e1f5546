"""The Kafka client: the package `confluent_kafka`, the properties it is given, and its errors."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.properties import properties_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from confluent_kafka import (
        Consumer,
        KafkaError,
        KafkaException,
        Message,
        Producer,
        TopicPartition,
    )

    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings

TIMEOUT_SECONDS: Final = 10.0
"""How long brokers are waited for when a source is opened."""
_LEADER_SECONDS: Final = 0.1
"""How long to wait before a partition without a leader is asked again."""
_WITHOUT_LEADER: Final = frozenset({"LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION"})
_DAY_MS: Final = 86_400_000
_BACKOFF_MS: Final = 5
_PREFIXES: Final = ("sasl.", "ssl.", "socket.", "fetch.", "client.")
_NAMES: Final = frozenset(
    {"security.protocol", "broker.address.family", "receive.message.max.bytes"}
)
_LOADS_CODE: Final = frozenset({"ssl.engine.location", "ssl.providers"})


def kafka() -> ModuleType:
    """Return the package of the client.

    Raises:
        FsqlError: E531, if it is not installed.
    """
    try:
        import confluent_kafka
    except ImportError:
        message = "connector 'kafka' needs the package confluent-kafka, which is not installed"
        helps = ("install fsql with the extra kafka: pip install 'fsql[kafka]'",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)]) from None
    return confluent_kafka


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and how it is read.

    With `from_latest` a new job begins with the messages that come after its start.  With `ends` the input
    ends with the last message that exists at the start.  `properties` are added to those of the client.
    """

    servers: str
    name: str
    from_latest: bool
    ends: bool
    properties: Mapping[str, str]

    def connect(self, on_error: Callable[[KafkaError], None], *, reports_ends: bool) -> Consumer:
        """Return a consumer without partitions; `on_error` is called while it is polled.

        With `reports_ends` it returns an error at the end of each partition.

        Raises:
            FsqlError: E534, if the properties are not valid.
        """
        properties = {
            **self._common(on_error),
            "group.id": "fsql",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": reports_ends,
            "max.poll.interval.ms": _DAY_MS,
            "fetch.queue.backoff.ms": _BACKOFF_MS,
        }
        try:
            return kafka().Consumer(properties)
        except kafka().KafkaException as error:
            raise _client_error(error) from None

    def begin_transactions(self, name: str) -> Producer:
        """Return a producer of transactions of that name; older producers of the name can write no more.

        Raises:
            FsqlError: E532, if the brokers do not answer; E534, if the properties are not valid.
        """
        properties = {
            **self._common(lambda _: None),
            "transactional.id": name,
            "partitioner": "murmur2_random",  # that of Java, so that topics can be joined by partition
        }
        try:
            producer = kafka().Producer(properties)
        except kafka().KafkaException as error:
            raise _client_error(error) from None
        try:
            producer.init_transactions(TIMEOUT_SECONDS)
        except kafka().KafkaException as error:
            raise _not_opened_error(self, error, "E532") from None
        return producer

    def _common(self, on_error: Callable[[KafkaError], None]) -> dict[str, object]:
        """Return the properties of consumers and producers."""
        silent = logging.Logger("kafka")  # noqa: LOG001 - no handler of the program prints what it gets
        silent.addHandler(logging.NullHandler())
        return {
            **self.properties,
            "bootstrap.servers": self.servers,
            "logger": silent,
            "error_cb": on_error,
        }

    def at(self, partition: int, offset: int) -> TopicPartition:
        """Return an offset of a partition, as the client takes it."""
        return kafka().TopicPartition(self.name, partition, offset)


def topic_of(settings: Settings, context: ConnectorContext) -> Topic:
    """Return the topic of a table.

    Raises:
        FsqlError: E531 or E533, if the file of properties cannot be read; E534, if it is not valid.
    """
    return Topic(
        settings.text("servers"),
        settings.text("topic"),
        settings.text("start") == "latest",
        settings.text("ends") == "latest",
        properties_of(settings, context, _may_be_set),
    )


def _may_be_set(name: str) -> bool:
    return name not in _LOADS_CODE and (name in _NAMES or name.startswith(_PREFIXES))


def topic_partitions(
    consumer: Consumer, topic: Topic, seconds: float = TIMEOUT_SECONDS, code: str = "E531"
) -> list[int]:
    """Return the numbers of the partitions of a topic, ascending.

    Raises:
        FsqlError: with that code, if no broker answers within `seconds`, or there is no such topic.
    """
    try:
        found = consumer.list_topics(topic.name, timeout=seconds).topics[topic.name]
    except kafka().KafkaException as error:
        raise _not_opened_error(topic, error, code) from None
    if found.error is not None:
        message = f"topic '{topic.name}' cannot be used: {found.error.str()}"
        helps = ("create the topic, or correct the option 'topic'; fsql creates none",)
        raise FsqlError([Diagnostic(code, message, helps=helps)])
    return sorted(found.partitions)


def partition_bounds(
    consumer: Consumer, topic: Topic, partition: int, code: str = "E531"
) -> tuple[int, int]:
    """Return the first offset of a partition, and the one after the last.

    A partition has no leader for a moment when its topic was just created or its broker was lost.

    Raises:
        FsqlError: with that code, if no broker answers.
    """
    until = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            first, last = consumer.get_watermark_offsets(
                topic.at(partition, 0), timeout=TIMEOUT_SECONDS, cached=False
            )
        except kafka().KafkaException as error:
            if error.args[0].name() not in _WITHOUT_LEADER or time.monotonic() > until:
                raise _not_opened_error(topic, error, code) from None
            time.sleep(_LEADER_SECONDS)
        else:
            return first, last


def place_of(message: Message) -> tuple[int, int]:
    """Return the partition of a message, or of an error, and its offset; -1 where an error has none."""
    partition, offset = message.partition(), message.offset()
    return -1 if partition is None else partition, -1 if offset is None else offset


def _client_error(error: KafkaException) -> FsqlError:
    message = f"the properties of the Kafka client are not valid: {error.args[0].str()}"
    return FsqlError([Diagnostic("E534", message)])


def _not_opened_error(topic: Topic, error: KafkaException, code: str) -> FsqlError:
    message = f'the Kafka brokers "{topic.servers}" do not answer: {error.args[0].str()}'
    helps = ("check the option 'servers', and that a broker is running there",)
    return FsqlError([Diagnostic(code, message, helps=helps)])


def no_answer_error(topic: Topic, reason: str) -> FsqlError:
    """Return the error of a topic whose messages do not come."""
    message = f"reading topic '{topic.name}' of \"{topic.servers}\" failed: {reason}"
    return FsqlError([Diagnostic("E535", message)])
