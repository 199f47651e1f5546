"""Writes bundles of rows to a topic in transactions."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.bundle_writer import BundleWriter
from fsql.connectors.kafka.client import kafka, place_of
from fsql.connectors.kafka.row_messages import HEADER
from fsql.runtime.sink import SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message, Producer

    from fsql.connectors.kafka.client import Topic
    from fsql.connectors.kafka.row_messages import RowMessage
    from fsql.runtime.batch import Root

_ROWS_MAX: Final = 50_000
"""A transaction begins no further bundle when it has so many rows."""
_COMMIT_SECONDS: Final = 30.0
_ABORT_SECONDS: Final = 1.0
_FULL_SECONDS: Final = 0.1
"""How long to wait until the client has room for more messages."""
_WITHOUT_KEY: Final = 0
"""The partition of rows without a key, which stay in order."""
_BY_KEY: Final = -1
_PERMANENT: Final = frozenset(
    {"MSG_SIZE_TOO_LARGE", "TOPIC_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}
)
"""Errors that another epoch would meet again."""


class PendingBundle(NamedTuple):
    """A bundle that waits: its end, and the rows that are to be written.

    It is `settled` if it comes after all rows that an earlier epoch has written.
    """

    ends: Root
    messages: list[RowMessage]
    settled: bool

    @property
    def row_count(self) -> int:
        """Return the number of rows that are to be written."""
        return len(self.messages)


class TransactionWriter(BundleWriter[PendingBundle]):
    """Writes the bundles that it is handed, and returns their ends as acknowledgements."""

    def __init__(
        self,
        producer: Producer,
        topic: Topic,
        owner: bytes,
        record: Callable[[PendingBundle], None],
        offsets: dict[int, int],
    ) -> None:
        """Start the thread.

        `owner` is the output, for the header of its rows.  `record` is called after each transaction with its
        last bundle.  `offsets` are those after the last row in each partition, and are updated.
        """
        super().__init__("kafka", _ROWS_MAX)
        self._producer = producer
        self._topic = topic
        self._owner = owner
        self._record = record
        self._offsets = offsets
        self.start()

    def store(self, bundles: list[PendingBundle]) -> None:
        """Write bundles in one transaction, and record the last of them.

        Raises:
            KafkaException: if the brokers refuse, or do not answer.
            OSError: if the disk refuses.
        """
        messages = [message for each in bundles for message in each.messages]
        if messages:
            self._write(messages)
        self._record(bundles[-1])

    def failure_of(self, error: Exception) -> SinkLostError | FsqlError:
        """Return the error of a transaction that failed."""
        if isinstance(error, OSError):
            return disk_error(error)
        if isinstance(error, kafka().KafkaException):
            return self._write_error(error.args[0])
        return super().failure_of(error)

    def _write(self, messages: list[RowMessage]) -> None:
        """Write rows in one transaction.

        Raises:
            KafkaException: if the brokers refuse, or do not answer.
        """
        until = time.monotonic() + _COMMIT_SECONDS
        self._producer.begin_transaction()
        for message in messages:
            self._produce(message, until)
            self._producer.poll(0)
        while True:
            try:
                self._producer.commit_transaction(_COMMIT_SECONDS)
            except kafka().KafkaException as error:
                if error.args[0].retriable() and time.monotonic() < until:
                    continue
                with suppress(kafka().KafkaException):
                    self._producer.abort_transaction(_ABORT_SECONDS)
                raise
            return

    def _produce(self, message: RowMessage, until: float) -> None:
        position = " ".join(map(str, message.position)).encode()
        header: tuple[str, str | bytes | None] = (HEADER, self._owner + b" " + position)
        partition = _WITHOUT_KEY if message.key is None else _BY_KEY
        while True:
            try:
                self._producer.produce(
                    self._topic.name,
                    message.value,
                    message.key,
                    partition,
                    on_delivery=self._on_delivery,
                    headers=[header, *message.headers],
                    timestamp=message.timestamp,
                )
            except BufferError:
                if time.monotonic() > until:
                    raise
                self._producer.poll(_FULL_SECONDS)
            else:
                return

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        """Record the offset of a message; an error fails the transaction."""
        if error is None:
            partition, offset = place_of(message)
            self._offsets[partition] = max(self._offsets.get(partition, 0), offset + 1)

    def _write_error(self, error: KafkaError) -> SinkLostError | FsqlError:
        topic = self._topic
        message = f"writing topic '{topic.name}' of \"{topic.servers}\" failed: {error.str()}"
        if error.name() in _PERMANENT:
            return FsqlError([Diagnostic("E535", message)])
        return SinkLostError(message)


def disk_error(error: OSError) -> SinkDiskError:
    """Return the error of a journal that cannot be written."""
    return SinkDiskError(f"the position of a topic cannot be recorded: {error.strerror}")
