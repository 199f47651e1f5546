"""Sinks: each stores the bundles of one output, rows and position together, as a connector has to.

A sink outlives the processes of the cluster.  It stores a bundle only if the bundle begins at its position.
It acknowledges bundles again that it has stored, and refuses all others, after which the sender has to
reconnect.  Where rows may be repeated (`at-least-once`, `none`) it stores every bundle.  Except with
`exactly-once`, where two coordinators send the same rows, it accepts the newest epoch only.  Its faults: it
is slow, or does not acknowledge; it acknowledges twice, or late; it breaks the connection; it loses power and
restarts with the data that was synced.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.simulation.world import MILLISECOND
from fsql.runtime.sink import OpenReply, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.simulation.coverage import Coverage
    from fsql.runtime.simulation.output_checker import OutputChecker
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.world import World
    from fsql.runtime.sink import OpenRequest

    Answer = Root | SinkLostError

OPENS_FOR_US: Final = 200 * MILLISECOND
"""How long a coordinator waits for a sink that does not answer."""


@dataclass(slots=True)
class SinkBehaviour:
    """How a sink behaves now; times in microseconds."""

    takes_us: int = 100
    mute: bool = False
    acknowledges_twice: bool = False
    acknowledges_late_us: int = 0


@dataclass(slots=True)
class SinkConnection:
    """A coordinator's connection to the sink; `parts` are those of an incomplete bundle."""

    epoch: int
    on_answer: Callable[[SinkConnection, Answer], None]
    parts: list[Bundle] = field(default_factory=list)
    free_us: int = 0
    open: bool = True


class ExternalSink:
    """The sink of one output, outside the cluster."""

    def __init__(
        self,
        number: int,
        world: World,
        checker: OutputChecker,
        coverage: Coverage,
        *,
        window: int,
        takes_us: int,
        option: DeliveryOption,
    ) -> None:
        self.number = number
        self.position: Root = START
        self.behaviour = SinkBehaviour(takes_us)
        self.bundles = 0
        self.parts = 0
        """The most parts of the bundle at the position that have come: many take a slow sink long."""
        self._world = world
        self._choices = world.tape.stream(f"consumer {number}")
        self._checker = checker
        self._coverage = coverage
        self._window = window
        self._takes_us = takes_us
        self._takes_repeats = not option.keeps_position
        self._accepts_newest_only = option is not DeliveryOption.EXACTLY_ONCE
        self._loses_rows = option is DeliveryOption.EXACTLY_ONCE
        self._not_synced: list[Root] = [START]
        """The positions since the last one that survives a loss of power, which is the first."""
        self._connections: list[SinkConnection] = []
        self._unsent: list[tuple[SinkConnection, Answer]] = []

    def open(
        self,
        opening: OpenRequest,
        process: Process,
        on_answer: Callable[[SinkConnection, Answer], None],
    ) -> tuple[SinkConnection, OpenReply]:
        """Open a connection for a coordinator; return the position of the sink.

        An output that does not keep the position of its sink continues at the start of the epoch.

        Raises:
            SinkLostError: if there is a newer epoch, or no answer.
        """
        process.charge(2 * self._latency_us() + self.behaviour.acknowledges_late_us)
        epoch = opening.epoch
        if self._accepts_newest_only and any(other.epoch > epoch for other in self._connections):
            raise SinkLostError("there is a newer epoch")
        if self.behaviour.mute:
            self._record_fault("mute", "OpenSinks")
            process.charge(OPENS_FOR_US)
            raise SinkLostError("it does not answer")

        life = process.life

        def send_later(connection: SinkConnection, answer: Answer) -> None:
            if process.life == life:  # the connection of a process that was killed is gone
                process.later(self._latency_us(), on_answer, connection, answer)

        if self._takes_repeats:
            self.position = opening.begins
            self._checker.on_epoch(self.number, opening.begins)
        connection = SinkConnection(epoch, send_later)
        self._connections = [*self._connections[-3:], connection]
        return connection, OpenReply(self.position, self._window)

    def send(self, connection: SinkConnection, bundle: Bundle) -> None:
        """Process a bundle after those before it on the connection."""
        arrives_us = max(self._world.now_us + self._latency_us(), connection.free_us)
        connection.free_us = arrives_us + self.behaviour.takes_us
        self._world.at(connection.free_us, self._take, connection, bundle)

    def _take(self, connection: SinkConnection, bundle: Bundle) -> None:
        if not connection.open:
            return
        if connection is not self._connections[-1]:
            self._coverage.sometimes("bundle of an old coordinator")
            if self._accepts_newest_only:
                # Bundles of an older epoch are valid only if both epochs send the same rows: with
                # at-most-once, the newer one may have skipped rows; with at-least-once, the positions prove
                # nothing.
                connection.open = False
                return
        connection.parts.append(bundle)
        if not bundle.last:
            self.parts = max(self.parts, len(connection.parts))
            return
        parts, connection.parts = connection.parts, []
        if len(parts) > 1:
            self._coverage.sometimes("bundle in several parts")
        assert [part.part for part in parts] == list(range(len(parts))), "parts out of order"
        if bundle.ends <= self.position and not self._takes_repeats:
            self._coverage.sometimes("bundle came twice")
        elif bundle.follows == self.position or (
            self._takes_repeats and bundle.follows <= self.position
        ):
            self._store(parts)
        else:
            self._coverage.sometimes("bundle refused by its consumer")
            self._lose(connection, f"{bundle.follows} does not follow {self.position}")
            return
        self._acknowledge(connection, bundle.ends)

    def _store(self, parts: list[Bundle]) -> None:
        follows, ends = parts[-1].follows, parts[-1].ends
        self._checker.on_stored(self.number, follows, ends, [part.contents for part in parts])
        self.bundles += 1
        self.parts = 0
        self.position = ends if self._takes_repeats else max(self.position, ends)
        self._not_synced.append(self.position)
        self._world.trace.record(
            self._world.now_us, f"consumer {self.number}", f"has all below {tuple(ends)}"
        )

    def _acknowledge(self, connection: SinkConnection, position: Root) -> None:
        self._answer(connection, position)
        if self.behaviour.acknowledges_twice:
            self._record_fault("acknowledges twice", "Deliver")
            self._answer(connection, position)

    def _answer(self, connection: SinkConnection, answer: Answer) -> None:
        if self.behaviour.mute:
            self._record_fault("mute", "Delivered")
            self._unsent.append((connection, answer))
        elif self.behaviour.acknowledges_late_us:
            self._record_fault("late", "Delivered")
            late_us = self.behaviour.acknowledges_late_us
            self._world.after(late_us, self._send_answer, connection, answer)
        else:
            self._send_answer(connection, answer)

    def _send_answer(self, connection: SinkConnection, answer: Answer) -> None:
        if connection.open:
            connection.on_answer(connection, answer)

    def _lose(self, connection: SinkConnection, reason: str) -> None:
        connection.open = False
        connection.on_answer(connection, SinkLostError(reason))

    def sync(self, connection: SinkConnection) -> None:
        """Make the stored rows survive a loss of power.

        Raises:
            SinkLostError: if the connection is lost.
        """
        if not connection.open:
            raise SinkLostError("the connection is lost")
        del self._not_synced[:-1]

    def _latency_us(self) -> int:
        return 50 + self._choices.below(MILLISECOND)

    def _record_fault(self, fault: str, step: str) -> None:
        self._coverage.record_fault(f"consumer: {fault}", step)

    # Faults.

    def restart(self) -> None:
        """Break all connections; bundles that were not stored are lost."""
        for connection in self._connections:
            if connection.open:
                self._lose(connection, "the consumer has ended")
        self._unsent.clear()

    def lose_power(self) -> None:
        """Restart with the rows that were synced, and possibly some of those stored after them."""
        self.restart()
        if self._loses_rows:
            del self._not_synced[1 + self._choices.below(len(self._not_synced)) :]
            self.position = self._not_synced[-1]
            self._checker.lost_rows(self.number, self.position)
            del self._not_synced[:-1]

    def behave(self) -> None:
        """End the faults, and send the acknowledgements that were held back."""
        self.behaviour = SinkBehaviour(self._takes_us)
        unsent, self._unsent = self._unsent, []
        for connection, answer in unsent:
            self._send_answer(connection, answer)


class SimulatedSink:
    """The sink in the process of a coordinator; see `runtime/sink.py`."""

    missing_reason = None
    descriptor = None

    def __init__(
        self,
        process: Process,
        sink: ExternalSink,
        on_deliver: Callable[[], None],
        on_answer: Callable[[], None],
    ) -> None:
        self._process = process
        self._life = process.life
        self._sink = sink
        self._on_deliver = on_deliver
        self._on_answer = on_answer
        self._connection: SinkConnection | None = None
        self._positions: list[Root] = []
        self._lost: SinkLostError | None = None

    def open(self, opening: OpenRequest) -> OpenReply:
        """See `ExternalSink`."""
        self._process.check(self._life)
        self._connection = None
        self._positions, self._lost = [], None
        self._connection, opened = self._sink.open(opening, self._process, self._take_answer)
        return opened

    def _take_answer(self, connection: SinkConnection, answer: Answer) -> None:
        if connection is not self._connection:
            return
        if isinstance(answer, SinkLostError):
            self._lost = answer
        else:
            self._positions.append(answer)
        self._on_answer()

    def deliver(self, bundle: Bundle) -> None:
        """See `ExternalSink`."""
        self._on_deliver()
        self._sink.send(self._open_connection(), bundle)

    def take_acknowledged(self) -> list[Root]:
        """See `ExternalSink`."""
        self._open_connection()
        positions, self._positions = self._positions, []
        return positions

    def wait(self, seconds: float) -> None:
        """See `ExternalSink`; a host is notified of an acknowledgement."""

    def sync(self) -> None:
        """See `ExternalSink`."""
        self._process.call(self._life, "sync consumer")
        self._sink.sync(self._open_connection())

    def close(self) -> None:
        """See `ExternalSink`."""

    def _open_connection(self) -> SinkConnection:
        if self._lost is not None or self._connection is None:
            raise self._lost or SinkLostError("it was not opened")
        return self._connection
