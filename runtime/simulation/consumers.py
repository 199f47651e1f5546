"""Consumers: each stores the bundles of one output, rows and position at once, as its connector has to.

A consumer outlives the cluster's processes.  It stores a bundle only if that follows what it has; what it
has already it acknowledges again; anything else it refuses, and whoever sent it has lost the output.  Where
the output may come again (`at-least-once`, `none`) it takes what comes.  Unless twins say the same
(`exactly-once`), it hears only the newest epoch, as consumers have to.  Its faults: it is slow, or mute;
it acknowledges twice, or late; it breaks the connection; it comes back with less than it had, or claims to
have more.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery import DeliveryOption
from fsql.runtime.cluster.node import Delivered, OutputAt, OutputLost
from fsql.runtime.simulation.world import MILLISECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.delivery import Bundle
    from fsql.runtime.simulation.coverage import Coverage
    from fsql.runtime.simulation.hosts import Host
    from fsql.runtime.simulation.judge import Judge
    from fsql.runtime.simulation.world import World

    Answer = Callable[[object], None]

KEPT_POSITIONS: Final = 8
"""How many bundles a consumer may lose when it comes back with less than it had."""


@dataclass(slots=True)
class Manner:
    """How a consumer behaves now; times in microseconds."""

    takes_us: int = 100
    mute: bool = False
    acknowledges_twice: bool = False
    acknowledges_late_us: int = 0
    claims_more: bool = False


@dataclass(slots=True)
class Connection:
    """A coordinator's connection to the consumer; `parts` are those of a bundle that is not whole yet."""

    epoch: int
    answer: Answer
    parts: list[Bundle] = field(default_factory=list)
    free_us: int = 0
    open: bool = True


class Consumer:
    """What has one output."""

    def __init__(  # noqa: PLR0913 - it stands between many
        self,
        number: int,
        world: World,
        judge: Judge,
        coverage: Coverage,
        *,
        window: int,
        takes_us: int,
        option: DeliveryOption,
    ) -> None:
        self.number = number
        self.position: Root = START
        self.manner = Manner(takes_us)
        self.bundles = 0
        self._world = world
        self._choices = world.tape.stream(f"consumer {number}")
        self._judge = judge
        self._coverage = coverage
        self._window = window
        self._takes_us = takes_us
        self._takes_repeats = not option.keeps_position
        self._hears_newest_only = option is not DeliveryOption.EXACTLY_ONCE
        self._older: deque[Root] = deque([START], maxlen=KEPT_POSITIONS)
        self._connections: list[Connection] = []
        self._muted: list[tuple[Connection, object]] = []

    def open(self, epoch: int, host: Host) -> Connection:
        """Open a connection for a coordinator, and tell it what the consumer has."""

        def answer(event: object) -> None:
            host.later(self._way_us(), host.handle, event)

        connection = Connection(epoch, answer)
        if self._hears_newest_only and any(other.epoch > epoch for other in self._connections):
            self._lose(connection, "there is a newer epoch")
            return connection
        self._connections = [*self._connections[-3:], connection]
        position = self.position
        if self.manner.claims_more:
            position = Root(position.time // 2 + (1 << 61), 0)
            self._struck("claims more", "OpenOutputs")
        self._say(connection, OutputAt(epoch, self.number, position, self._window))
        return connection

    def send(self, connection: Connection, bundle: Bundle) -> None:
        """Take a bundle off the connection, when its turn has come."""
        arrives_us = max(self._world.now_us + self._way_us(), connection.free_us)
        connection.free_us = arrives_us + self.manner.takes_us
        self._world.at(connection.free_us, self._take, connection, bundle)

    def _take(self, connection: Connection, bundle: Bundle) -> None:
        if not connection.open:
            return
        if connection is not self._connections[-1]:
            self._coverage.sometimes("bundle of an old coordinator")
            if self._hears_newest_only:
                # A late twin may only be heard where both say the same: of at-most-once, the newer one has
                # passed over what the older one says; of at-least-once, what it follows tells nothing.
                connection.open = False
                return
        connection.parts.append(bundle)
        if not bundle.last:
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
        self._judge.stored(self.number, follows, ends, [part.contents for part in parts])
        self.bundles += 1
        self.position = ends if self._takes_repeats else max(self.position, ends)
        self._older.append(self.position)
        self._world.trace.happened(
            self._world.now_us, f"consumer {self.number}", f"has all below {tuple(ends)}"
        )

    def _acknowledge(self, connection: Connection, position: Root) -> None:
        event = Delivered(connection.epoch, self.number, position)
        self._say(connection, event)
        if self.manner.acknowledges_twice:
            self._struck("acknowledges twice", "Deliver")
            self._say(connection, event)

    def _say(self, connection: Connection, event: object) -> None:
        if self.manner.mute:
            self._struck("mute", type(event).__name__)
            self._muted.append((connection, event))
        elif self.manner.acknowledges_late_us:
            self._struck("late", type(event).__name__)
            late_us = self.manner.acknowledges_late_us
            self._world.after(late_us, self._speak, connection, event)
        else:
            self._speak(connection, event)

    def _speak(self, connection: Connection, event: object) -> None:
        if connection.open:
            connection.answer(event)

    def _lose(self, connection: Connection, reason: str) -> None:
        connection.open = False
        connection.answer(OutputLost(self.number, reason))

    def _way_us(self) -> int:
        return 50 + self._choices.below(MILLISECOND)

    def _struck(self, fault: str, step: str) -> None:
        self._coverage.struck(f"consumer: {fault}", step)

    # Faults.

    def restart(self) -> None:
        """Break all connections; what was not stored is gone."""
        for connection in self._connections:
            if connection.open:
                self._lose(connection, "the consumer has ended")
        self._muted.clear()

    def come_back_with_less(self) -> None:
        """Restart with a position that the consumer had some bundles ago."""
        self.restart()
        back = self._choices.below(len(self._older))
        for _ in range(back):
            self._older.pop()
        if not self._older:
            self._older.append(START)
        self.position = self._older[-1]
        self._judge.lost_rows(self.number, self.position)

    def behave(self) -> None:
        """Be as a consumer should be, and say what was held back."""
        self.manner = Manner(self._takes_us)
        muted, self._muted = self._muted, []
        for connection, event in muted:
            self._speak(connection, event)
