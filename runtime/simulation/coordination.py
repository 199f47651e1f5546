"""Coordination as a service: who leads, the number of the epoch, the newest snapshot.

It lives outside the cluster and is always consistent; what fails is the way to it.  An operation takes a
while to get there and a while to come back, either way may get lost (the caller learns nothing, not even
whether it was carried out), and a session that was not renewed in time is over: its lease goes to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from fsql.runtime.simulation.world import MILLISECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.hosts import Host
    from fsql.runtime.simulation.tape import Stream
    from fsql.runtime.simulation.world import World

_Answer = TypeVar("_Answer")

TIMEOUT_US: Final = 500 * MILLISECOND
"""When a caller gives up on an answer."""


@dataclass(slots=True)
class Registers:
    """What coordination holds.  `leader` is (address, host's start) of whoever has the lease."""

    leader: tuple[str, int] | None = None
    lease_ends_us: int = 0
    epoch: int = 0
    epoch_owner: tuple[str, int] | None = None
    snapshots: list[tuple[int, str]] = field(default_factory=list)


class Coordination:
    """The service, and the way to it."""

    def __init__(self, world: World, *, lease_us: int) -> None:
        self.registers = Registers()
        self.lease_us = lease_us
        self.reachable = True
        self.loss_rate = 0.0
        self._world = world
        self._choices: Stream = world.tape.stream("coordination")

    def call(
        self,
        host: Host,
        operation: Callable[[], _Answer],
        answer: Callable[[_Answer | None], None],
    ) -> None:
        """Have `operation` carried out there, and `answer` called at the host; None means: not known."""
        there_us = 100 + self._choices.below(2 * MILLISECOND)
        done = _Once(answer)
        host.later(TIMEOUT_US, done, None)
        if self.reachable and not self._choices.chance(self.loss_rate):
            self._world.after(there_us, self._carried_out, host, host.starts, operation, done)

    def _carried_out(
        self,
        host: Host,
        start: int,
        operation: Callable[[], _Answer],
        done: Callable[[_Answer | None], None],
    ) -> None:
        result = operation()
        if self.reachable and not self._choices.chance(self.loss_rate) and host.starts == start:
            host.later(100 + self._choices.below(2 * MILLISECOND), done, result)

    # The operations, each carried out at once.

    def lease(self, address: str, start: int) -> bool:
        """Take or renew the lease; say whether the caller has it."""
        registers, me = self.registers, (address, start)
        if registers.leader not in {None, me} and self._world.now_us < registers.lease_ends_us:
            return False
        registers.leader = me
        registers.lease_ends_us = self._world.now_us + self.lease_us
        return True

    def holds(self, address: str, start: int) -> bool:
        """Say whether somebody has the lease now."""
        registers = self.registers
        return registers.leader == (address, start) and self._world.now_us < registers.lease_ends_us

    def leader(self) -> str | None:
        """Return the address of whoever leads, or led last."""
        return None if self.registers.leader is None else self.registers.leader[0]

    def take_epoch(self, address: str, start: int) -> int | None:
        """Return a new epoch for whoever has the lease, None for anybody else."""
        if not self.holds(address, start):
            return None
        self.registers.epoch += 1
        self.registers.epoch_owner = (address, start)
        return self.registers.epoch

    def commit(self, epoch: int, snapshot: int, digest: str) -> bool:
        """Make a snapshot the newest, if `epoch` is the newest epoch and the number is new."""
        registers = self.registers
        if epoch != registers.epoch:
            return (snapshot, digest) in registers.snapshots
        if registers.snapshots and registers.snapshots[-1][0] >= snapshot:
            return registers.snapshots[-1] == (snapshot, digest)
        registers.snapshots = [*registers.snapshots, (snapshot, digest)][-2:]
        return True

    def expire(self) -> None:
        """End the leader's session, as the service does when it heard nothing for too long."""
        self.registers.leader = None
        self.registers.lease_ends_us = self._world.now_us


class _Once(Generic[_Answer]):
    """Passes the first call on."""

    def __init__(self, action: Callable[[_Answer | None], None]) -> None:
        self._action: Callable[[_Answer | None], None] | None = action

    def __call__(self, answer: _Answer | None) -> None:
        action, self._action = self._action, None
        if action is not None:
            action(answer)
