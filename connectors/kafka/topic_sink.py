"""A topic as a sink: each row is a message, and each row comes once.

Bundles are written in transactions (`transaction_writer`).  After each transaction the journal records the
position, with the offsets of the partitions.  Between these two a job can be killed.  Therefore each message
has the position of its row in a header, and a new epoch reads the messages that come after the recorded
offsets: rows that are found there are not written again.

The name of the transactions is that of the job and the table.  A broker ends an open transaction, and
refuses further messages of an older epoch, when a new epoch begins.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, cast

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.file.journal import Journal, JournalEntry
from fsql.connectors.kafka.client import (
    TIMEOUT_SECONDS,
    partition_bounds,
    place_of,
    topic_partitions,
)
from fsql.connectors.kafka.row_messages import HEADER, RowPosition
from fsql.connectors.kafka.transaction_writer import (
    PendingBundle,
    TransactionWriter,
    disk_error,
)
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.sink import OpenReply, Sequencer, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from confluent_kafka import Consumer, KafkaError, Message

    from fsql.connectors.kafka.client import Topic
    from fsql.connectors.kafka.row_messages import RowMessage, RowMessages
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.sink import OpenRequest

_WINDOW: Final = 64
"""How many bundles may be unacknowledged."""
_ENTRIES_MAX: Final = 1_000
"""The journal is not renewed before it has this many entries."""


class TopicEntry(JournalEntry, frozen=True):
    """All rows below the position are before these offsets of the partitions, and no others."""

    offsets: dict[int, int]


class TopicSink:
    """Writes the rows of an output to a topic; without a journal it keeps no position."""

    def __init__(
        self, topic: Topic, name: str, messages: RowMessages, journal: Path | None
    ) -> None:
        """Take the topic, the name of the output, and the prefix of the journal's path."""
        self._topic = topic
        self._name = name
        self._messages = messages
        self._files = FileLayer()
        self._journal = None if journal is None else Journal(journal, self._files, TopicEntry)
        self._entries = 0
        self._epoch = -1
        self._was_open = False
        self._owner = b""
        self._sequencer: Sequencer | None = None
        self._building: list[RowMessage] = []
        self._seen: set[RowPosition] = set()
        self._offsets: dict[int, int] = {}
        self._old_offsets: dict[int, int] = {}
        self._writer: TransactionWriter | None = None

    @property
    def missing_reason(self) -> str | None:
        """Return that the brokers do not answer, if a transaction takes long."""
        writer = self._writer
        missing = writer is not None and writer.waits
        return f'the Kafka brokers "{self._topic.servers}" do not answer' if missing else None

    @property
    def descriptor(self) -> int | None:
        """Return the descriptor that is readable when an acknowledgement has come, or None."""
        return None if self._writer is None else self._writer.descriptor

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch.

        Raises:
            FsqlError: E532, E535 or E537, if the topic cannot be written, or has lost rows.
            SinkLostError: if the brokers do not answer, or a later epoch has begun.
        """
        self.close()
        self._epoch = opening.epoch
        owner = secrets.token_hex(8) if self._journal is None else opening.owner
        self._owner = f"{owner}/{self._name}".encode()
        try:
            producer = self._topic.begin_transactions(self._owner.decode())
            position = self._resume(opening)
        except FsqlError as error:
            if self._was_open and error.diagnostics[0].code == "E532":
                raise SinkLostError(error.diagnostics[0].message) from None
            raise
        self._was_open = True
        self._messages.begin()
        self._building = []
        self._sequencer = Sequencer(position)
        self._writer = TransactionWriter(
            producer, self._topic, self._owner, self._record, self._offsets
        )
        return OpenReply(position, _WINDOW)

    def deliver(self, bundle: Bundle) -> None:
        """Take a bundle, or a part of one.

        Raises:
            FsqlError: E535, if the sink has failed permanently.
            SinkLostError: if the bundle does not follow, or after an error.
        """
        sequencer, writer = self._sequencer, self._writer
        if sequencer is None or writer is None:
            raise SinkLostError("the sink has failed and was not opened again")
        writer.check()
        self._sequencer = None  # until it is accepted
        if sequencer.accepts(bundle.follows, bundle.ends, bundle.part):
            if bundle.contents is not None:
                assert isinstance(bundle.contents, Released)
                self._building += self._messages(bundle.contents.release)
            if bundle.last:
                taken, self._building = self._building, []
                sequencer.on_stored(bundle.ends)
                unseen = self._unseen(taken)
                writer.put(PendingBundle(bundle.ends, unseen, settled=not self._seen))
        else:
            writer.put(PendingBundle(sequencer.position, [], settled=not self._seen))
        self._sequencer = sequencer

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the ends of the bundles that were written since the last call.

        Raises:
            FsqlError: E535, if the sink has failed permanently.
            SinkLostError: if a transaction has failed.
        """
        return () if self._writer is None else self._writer.take_acknowledged()

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for an acknowledgement."""
        if self._writer is not None:
            self._writer.wait(seconds)

    def sync(self) -> None:
        """Make the journal survive a loss of power; the brokers keep what they have acknowledged.

        Raises:
            SinkLostError: if the disk refuses.
        """
        journal = None if self._journal is None else self._journal.duplicate()
        if journal is None:
            return
        try:
            self._files.sync(journal)
        except OSError as error:
            raise disk_error(error) from None
        finally:
            self._files.close(journal)

    def close(self) -> None:
        """Write what waits, and leave the brokers.

        Raises:
            FsqlError: E535, in a run that keeps no state, if rows could not be written.
        """
        self._sequencer = None
        writer, self._writer = self._writer, None
        if writer is None:
            return
        ended = writer.close()
        if self._journal is None and not (ended and writer.is_complete):
            if isinstance(writer.failure, FsqlError):
                raise writer.failure
            name, servers = self._topic.name, self._topic.servers
            message = f"writing topic '{name}' of \"{servers}\" failed: rows are missing"
            message = message if writer.failure is None else str(writer.failure)
            raise FsqlError([Diagnostic("E535", message)])
        if self._journal is not None and ended:
            self._journal.close()

    def _record(self, bundle: PendingBundle) -> None:
        """Record that all rows up to the end of a bundle are written; the thread of the writer calls this.

        Until all rows that an earlier epoch has written have come again, they can be before the new offsets,
        so the old offsets are recorded.

        Raises:
            OSError: if the disk refuses.
            SinkLostError: if a later epoch has begun.
        """
        if self._journal is None:
            return
        if self._journal.is_superseded:
            raise self._epoch_error()
        offsets = self._offsets if bundle.settled else self._old_offsets
        entry = TopicEntry(self._epoch, bundle.ends, offsets)
        if self._entries < _ENTRIES_MAX:
            self._journal.append(entry)
            self._entries += 1
        else:
            self._journal.renew(entry)
            self._entries = 1

    def _unseen(self, messages: list[RowMessage]) -> list[RowMessage]:
        """Return the messages that the topic does not have yet."""
        if not self._seen:
            return messages
        unseen = [each for each in messages if each.position not in self._seen]
        self._seen.difference_update(each.position for each in messages)
        return unseen

    # What the topic has.

    def _resume(self, opening: OpenRequest) -> Root:
        """Return the position at which the output continues, and find the rows after it.

        Raises:
            FsqlError: E532, E535 or E537.
            SinkLostError: if a later epoch has begun.
        """
        consumer = self._topic.connect(_ignore, reports_ends=True)
        try:
            partitions = topic_partitions(consumer, self._topic, code="E532")
            bounds = {
                each: partition_bounds(consumer, self._topic, each, "E532") for each in partitions
            }
            ends = {partition: last for partition, (_, last) in bounds.items()}
            self._seen = set()
            if self._journal is None:
                self._offsets = ends
                return opening.begins
            try:
                entry = self._last_entry(opening, TopicEntry(opening.epoch, START, ends))
                position, self._offsets = Root(*entry.position), dict(entry.offsets)
                if opening.option.keeps_position:
                    self._check_entry(entry, opening, ends)
                    if opening.option in {DeliveryOption.EXACTLY_ONCE, DeliveryOption.AT_MOST_ONCE}:
                        self._seen = self._read_positions(consumer, bounds)
                else:
                    position, self._offsets = opening.begins, ends
                self._old_offsets = dict(self._offsets)
                first = TopicEntry(self._epoch, position, self._offsets)
                if not self._journal.begin(first):
                    raise self._epoch_error()
                self._entries = 1
            except OSError as error:
                raise disk_error(error) from None
        finally:
            consumer.close()
        return position

    def _last_entry(self, opening: OpenRequest, new: TopicEntry) -> TopicEntry:
        """Return the last entry of the journal, or `new` for a job that has written nothing.

        Raises:
            FsqlError: E537, if the journal is lost.
            SinkLostError: if a later epoch has begun.
        """
        assert self._journal is not None
        entries = self._journal.entries()
        if not entries:
            if opening.begins != START and opening.option.keeps_position:
                raise self._mismatch_error("what it has is not recorded")
            return new
        if entries[0].epoch > opening.epoch:
            raise self._epoch_error()
        return entries[0]

    def _check_entry(self, entry: TopicEntry, opening: OpenRequest, ends: dict[int, int]) -> None:
        """Check that the topic has what the job has written.

        Raises:
            FsqlError: E537, if not.
        """
        if Root(*entry.position) < opening.begins:
            raise self._mismatch_error("it lacks rows that it had")
        for partition, offset in sorted(entry.offsets.items()):
            if ends.get(partition, 0) < offset:
                raise self._mismatch_error(f"partition {partition} has lost messages")

    def _read_positions(
        self, consumer: Consumer, bounds: dict[int, tuple[int, int]]
    ) -> set[RowPosition]:
        """Return the positions of the rows of this output after the recorded offsets.

        Raises:
            SinkLostError: if the brokers do not answer.
        """
        due = {
            partition: max(first, self._offsets.get(partition, 0))
            for partition, (first, last) in bounds.items()
            if self._offsets.get(partition, 0) < last
        }
        consumer.assign([self._topic.at(partition, offset) for partition, offset in due.items()])
        found: set[RowPosition] = set()
        while due:
            message = consumer.poll(TIMEOUT_SECONDS)
            if message is None:
                raise SinkLostError(f'the Kafka brokers "{self._topic.servers}" do not answer')
            error = message.error()
            if error is None:
                found |= self._position_of(message)
            elif error.name() == "_PARTITION_EOF":
                due.pop(place_of(message)[0], None)
            else:
                raise SinkLostError(error.str())
        return found

    def _position_of(self, message: Message) -> set[RowPosition]:
        """Return the position of the row of a message, if this output has written it."""
        headers = cast("Sequence[tuple[str, bytes]]", message.headers() or ())
        for name, value in headers:
            if name == HEADER:
                owner, *numbers = value.rsplit(b" ", 3)
                if owner == self._owner:
                    time_, origin, number = map(int, numbers)
                    return {RowPosition(time_, origin, number)}
        return set()

    # Errors.

    def _epoch_error(self) -> SinkLostError:
        return SinkLostError(f"a later epoch than {self._epoch} has begun")

    def _mismatch_error(self, reason: str) -> FsqlError:
        message = f"topic '{self._topic.name}' does not match the state of the job: {reason}"
        helps = ("start the job again, with an empty state directory",)
        return FsqlError([Diagnostic("E537", message, helps=helps)])


def _ignore(error: KafkaError) -> None:
    """Leave an error to the call that fails because of it."""
    del error
