"""Writes bundles of rows to a topic in transactions, in a thread of its own.

The thread takes all bundles that wait, so a transaction has many of them under load.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, FsqlError
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
_CLOSE_SECONDS: Final = 10.0
_FULL_SECONDS: Final = 0.1
"""How long to wait until the client has room for more messages."""
_WAITS_AFTER_SECONDS: Final = 1.0
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


class TransactionWriter:
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
        self._producer = producer
        self._topic = topic
        self._owner = owner
        self._record = record
        self._offsets = offsets
        self._changed = threading.Condition()
        """Guards what follows; notified when there is something to write, or the writer is closed."""
        self._pending: deque[PendingBundle] = deque()
        self._acknowledged: list[Root] = []
        self._closing = False
        self._failure: SinkLostError | FsqlError | None = None
        self._busy_since: float | None = None
        self.descriptor, self._waker = os.pipe()
        """The descriptor that is readable when an acknowledgement has come."""
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._waker, False)
        self._thread = threading.Thread(target=self._run, name="kafka", daemon=True)
        self._thread.start()

    @property
    def waits(self) -> bool:
        """Return whether a transaction takes so long that the brokers may be missing."""
        since = self._busy_since
        return since is not None and time.monotonic() - since > _WAITS_AFTER_SECONDS

    @property
    def is_complete(self) -> bool:
        """Return whether everything that was handed over is written."""
        return self._failure is None and not self._pending

    def check(self) -> None:
        """Check that the writer has not failed.

        Raises:
            FsqlError: E535, if it has failed permanently.
            SinkLostError: if another epoch may succeed.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure

    def put(self, bundle: PendingBundle) -> None:
        """Hand over a bundle."""
        with self._changed:
            self._pending.append(bundle)
            self._changed.notify()

    def take_acknowledged(self) -> list[Root]:
        """Return the ends of the bundles that were written since the last call.

        Raises:
            FsqlError: E535, if it has failed permanently.
            SinkLostError: if another epoch may succeed.
        """
        with suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 12)
        with self._changed:
            acknowledged, self._acknowledged = self._acknowledged, []
        if not acknowledged:
            self.check()
        return acknowledged

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for an acknowledgement."""
        waiting = select.poll()
        waiting.register(self.descriptor, select.POLLIN)
        waiting.poll(seconds * 1000)

    def close(self) -> bool:
        """Write what waits, and end the thread; return whether it has ended.

        If brokers do not answer, it ends later, and keeps what it uses.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            return False
        os.close(self.descriptor)
        os.close(self._waker)
        return True

    def _run(self) -> None:
        try:
            while pending := self._take():
                self._busy_since = time.monotonic()
                messages = [message for each in pending for message in each.messages]
                if messages:
                    self._write(messages)
                self._record(pending[-1])
                self._busy_since = None
                with self._changed:
                    self._acknowledged += [each.ends for each in pending]
                self._wake()
        except (FsqlError, SinkLostError) as error:
            self._fail(error)
        except OSError as error:
            self._fail(disk_error(error))
        except kafka().KafkaException as error:
            self._fail(self._write_error(error.args[0]))
        except Exception as error:  # noqa: BLE001 - rows would wait without an error
            self._fail(SinkLostError(f"{type(error).__name__}: {error}"))

    def _take(self) -> list[PendingBundle]:
        """Return what waits, as soon as there is something; nothing once the writer is closed."""
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            taken: list[PendingBundle] = []
            count = 0
            while self._pending and count < _ROWS_MAX:
                taken.append(self._pending.popleft())
                count += len(taken[-1].messages)
            return taken

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

    def _fail(self, error: SinkLostError | FsqlError) -> None:
        with self._changed:
            self._failure = error
        self._busy_since = None
        self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._waker, b".")

    def _write_error(self, error: KafkaError) -> SinkLostError | FsqlError:
        topic = self._topic
        message = f"writing topic '{topic.name}' of \"{topic.servers}\" failed: {error.str()}"
        if error.name() in _PERMANENT:
            return FsqlError([Diagnostic("E535", message)])
        return SinkLostError(message)


def disk_error(error: OSError) -> SinkDiskError:
    """Return the error of a journal that cannot be written."""
    return SinkDiskError(f"the position of a topic cannot be recorded: {error.strerror}")
