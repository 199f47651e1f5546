"""The messages of a topic as an inflow of lines.

Partitions are read concurrently, so the order of messages of different partitions depends on the network.
It becomes fixed when the lines are in the front log; the journal records which messages these are.  The next
message of each partition is therefore known after a failure without the brokers, which keep nothing of the
job.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.kafka.client import (
    TIMEOUT_SECONDS,
    no_answer_error,
    partition_bounds,
    place_of,
    topic_partitions,
)
from fsql.connectors.live.piece_journal import Piece, PieceJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from confluent_kafka import KafkaError, Message

    from fsql.connectors.kafka.client import Topic
    from fsql.connectors.kafka.message_lines import LinesOf
    from fsql.connectors.live.front_log import LogWriter

_MESSAGES_MAX: Final = 10_000
"""How many messages are taken at a time, at most."""
_DISCOVERY_SECONDS: Final = 30.0
"""How often new partitions are looked for."""
_DISCOVERY_WAIT_SECONDS: Final = 1.0


class TopicPiece(Piece, frozen=True):
    """The messages of a partition with the offsets `[begin, end)`."""

    partition: int
    begin: int
    end: int


class TopicInflow:
    """The lines of the messages of a topic; see `ResumableInflow`."""

    def __init__(
        self,
        topic: Topic,
        lines_of: LinesOf,
        on_notice: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to the brokers.

        Raises:
            FsqlError: E531, if they do not answer, or there is no such topic.
        """
        self._topic = topic
        self._lines_of = lines_of
        self._on_notice = on_notice
        self._clock = clock
        self._consumer = topic.connect(self._on_client_error, reports_ends=topic.ends)
        self._journal: PieceJournal[TopicPiece] | None = None
        self._log: LogWriter | None = None
        self._log_end = 0
        """The length that the log has when everything that was read is in it."""
        self._rest = b""
        self._next: dict[int, int] = {}
        """The offset of the next message of each partition."""
        self._until: dict[int, int] = {}
        """The offset at which each partition ends that has not ended yet, if the input ends."""
        self._assigned = False
        self._waiting = False
        self._refused: FsqlError | None = None
        self._next_discovery = clock() + _DISCOVERY_SECONDS
        try:
            self._bounds = self._find_bounds()
        except BaseException:
            self._consumer.close()
            raise
        begin = 1 if topic.from_latest else 0
        self._next = {partition: bounds[begin] for partition, bounds in self._bounds.items()}
        if topic.ends:
            self._until = {partition: last for partition, (_, last) in self._bounds.items()}

    def open_journal(self, directory: Path) -> int:
        """Open the journal next to a front log; see `ResumableInflow`.

        Raises:
            FsqlError: E532, if it cannot be read.
        """
        self._journal = PieceJournal(directory, "consumed", TopicPiece)
        return self._journal.end

    def resume(self, log: LogWriter) -> None:
        """Continue at the end of the journal and its log, and record all further reads.

        Raises:
            FsqlError: E535, if the disk or a broker fails; E536, if messages that are due are lost.
        """
        assert self._journal is not None
        self._log = log
        known = [piece for piece in self._journal.pieces if piece.is_in(log.length)]
        for piece in known:
            self._next[piece.partition] = piece.end
        torn = known[-1] if known and known[-1].stop > log.length else None
        self._check_bounds(torn)
        self._log_end = log.length
        if torn is not None:
            self._rest = self._read_again(torn)[log.length - torn.start :]
            self._log_end = torn.stop
        try:
            self._journal.rewrite(self._known_pieces(torn))
        except OSError as error:
            raise paths.io_error("writing", str(log.directory), error) from None
        log.before_flush.append(self._journal.sync)

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return the lines of messages that arrive within `seconds`, None if none do, b"" at the end.

        Raises:
            FsqlError: E535, if a broker refuses; E536, if messages have expired before they were read.
        """
        if not self._rest:
            if not self._assigned:
                self._assign()
            self._drop_ended()
            if self._topic.ends and not self._until:
                return b""
            self._discover()
            self._shorten_journal()
            self._rest = self._receive(seconds)
            if not self._rest:
                return None
        data, self._rest = self._rest[:bytes_max], self._rest[bytes_max:]
        return data

    def close(self) -> None:
        """Leave the brokers, and close the journal."""
        self._consumer.close()
        if self._journal is not None:
            self._journal.close()

    def _find_bounds(self) -> dict[int, tuple[int, int]]:
        """Return the first offset of each partition, and the one after the last.

        Raises:
            FsqlError: E531, if the brokers do not answer.
        """
        partitions = topic_partitions(self._consumer, self._topic)
        return {each: partition_bounds(self._consumer, self._topic, each) for each in partitions}

    def _check_bounds(self, torn: TopicPiece | None) -> None:
        """Check that the messages that come next exist, or will exist.

        Raises:
            FsqlError: E536, if not.
        """
        due = dict(self._next) if torn is None else {**self._next, torn.partition: torn.begin}
        for partition, offset in sorted(due.items()):
            first, last = self._bounds.get(partition, (0, 0))
            if not first <= offset <= last:
                has = (
                    "it has none"
                    if first == last
                    else f"it has those from {first:,} to {last - 1:,}"
                )
                raise self._lost_error(partition, offset, has)

    def _drop_ended(self) -> None:
        for partition in [each for each, end in self._until.items() if self._next[each] >= end]:
            del self._until[partition]

    def _assign(self) -> None:
        self._consumer.assign(
            [self._topic.at(partition, offset) for partition, offset in self._next.items()]
        )
        self._assigned = True

    def _discover(self) -> None:
        """Begin to read partitions that the topic has had since it was last looked for them."""
        if self._topic.ends or self._clock() < self._next_discovery:
            return
        self._next_discovery = self._clock() + _DISCOVERY_SECONDS
        with suppress(FsqlError):  # brokers that do not answer are asked again
            new = [
                each
                for each in topic_partitions(self._consumer, self._topic, _DISCOVERY_WAIT_SECONDS)
                if each not in self._next
            ]
            if new:
                self._next |= dict.fromkeys(new, 0)
                self._assign()

    def _shorten_journal(self) -> None:
        """Forget how the log was made, once all of it is durable."""
        if self._journal is not None and self._log is not None and self._journal.is_long:
            self._log.flush()
            assert self._log.length == self._log_end, "what was read is written before more is read"
            self._journal.rewrite(self._known_pieces())

    def _receive(self, seconds: float) -> bytes:
        """Return the lines of the messages that have arrived; wait up to `seconds` for the first.

        Raises:
            FsqlError: E535 or E536.
        """
        first = self._consumer.poll(seconds)
        if self._refused is not None:
            raise self._refused
        if first is None:
            return b""
        self._waiting = False
        by_partition: dict[int, list[Message]] = {}
        for message in [first, *self._consumer.consume(_MESSAGES_MAX - 1, 0)]:
            partition, offset = place_of(message)
            if (error := message.error()) is not None:
                self._on_error(error, partition)
                continue
            if not self._topic.ends or offset < self._until.get(partition, 0):
                by_partition.setdefault(partition, []).append(message)
        lines = [self._take(partition, messages) for partition, messages in by_partition.items()]
        return b"".join(lines)

    def _take(self, partition: int, messages: Sequence[Message]) -> bytes:
        """Return the lines of messages of a partition, and record them."""
        data = self._lines_of(messages)
        begin, end = self._next[partition], place_of(messages[-1])[1] + 1
        self._next[partition] = end
        if self._journal is not None:
            self._journal.write(TopicPiece(self._log_end, len(data), partition, begin, end))
        self._log_end += len(data)
        return data

    def _read_again(self, torn: TopicPiece) -> bytes:
        """Return the lines of a piece, of which the log has only the beginning.

        Raises:
            FsqlError: E535 or E536, if its messages do not come again.
        """
        self._consumer.assign([self._topic.at(torn.partition, torn.begin)])
        lines: list[bytes] = []
        size, waits_until = 0, self._clock() + TIMEOUT_SECONDS
        while size < torn.size:
            message = self._consumer.poll(TIMEOUT_SECONDS)
            if self._refused is not None:
                raise self._refused
            if message is not None and (error := message.error()) is not None:
                self._on_error(error, place_of(message)[0])
            elif message is not None:
                lines.append(self._lines_of([message]))
                size += len(lines[-1])
            elif self._clock() >= waits_until:
                raise no_answer_error(self._topic, "messages that were read do not come again")
        if size != torn.size:
            raise self._lost_error(torn.partition, torn.begin, "its messages have changed")
        return b"".join(lines)

    def _known_pieces(self, torn: TopicPiece | None = None) -> list[TopicPiece]:
        """Return pieces that record the next offset of each partition; a torn one is the last."""
        start = self._log_end if torn is None else torn.start
        known = [
            TopicPiece(start, 0, partition, offset, offset)
            for partition, offset in self._next.items()
            if torn is None or partition != torn.partition
        ]
        return known if torn is None else [*known, torn]

    def _on_error(self, error: KafkaError, partition: int) -> None:
        """Handle an error of a partition.

        Raises:
            FsqlError: E535 or E536, unless it is the end of the partition.
        """
        match error.name():
            case "_PARTITION_EOF":
                self._until.pop(partition, None)
            case "_AUTO_OFFSET_RESET" | "OFFSET_OUT_OF_RANGE":
                raise self._lost_error(partition, self._next[partition], "it has expired")
            case _:
                raise no_answer_error(self._topic, error.str())

    def _on_client_error(self, error: KafkaError) -> None:
        """Report that brokers do not answer; end where they refuse the client."""
        match error.name():
            case "_AUTHENTICATION" | "_SSL":
                self._refused = no_answer_error(self._topic, error.str())
            case "_ALL_BROKERS_DOWN" if not self._waiting:
                self._waiting = True
                self._on_notice(f'no broker of "{self._topic.servers}" answers; it is tried again')

    def _lost_error(self, partition: int, offset: int, reason: str) -> FsqlError:
        message = (
            f"topic '{self._topic.name}' cannot be read from offset {offset:,} of partition {partition}:"
            f" {reason}"
        )
        helps = (
            "start the job again, with an empty state directory, or as a new job; let messages expire later",
        )
        return FsqlError([Diagnostic("E536", message, helps=helps)])
