"""The base class of both kinds of hosts: steps a node and carries out its effects in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fsql.runtime.cluster.node import TimerFired

if TYPE_CHECKING:
    from fsql.runtime.hosts.ports import Clock, CoordinatorMachine, WorkerMachine

_Machine = TypeVar("_Machine", bound="WorkerMachine | CoordinatorMachine")


class Host(ABC, Generic[_Machine]):
    """Steps one node.

    An event that an effect causes immediately waits until all pending effects have been carried out.
    """

    def __init__(self, node: _Machine, clock: Clock) -> None:
        self.node = node
        self.clock = clock
        self.done = False
        """Whether the process may exit."""
        self._events: deque[Any] = deque()

    def step(self, event: Any) -> None:  # noqa: ANN401 - each kind of node has its own
        """Step the node with an event, and carry out its effects."""
        events = self._events
        events.append(event)
        if len(events) > 1:
            return  # the call that is stepping the node handles the event, too
        while events:
            for effect in self.node.step(events[0], self.clock()):
                self._carry_out(effect)
            events.popleft()

    def next_timer(self) -> float | None:
        """Return the latest time at which to call `tick`."""
        return self.node.next_timer()

    def tick(self) -> None:
        """Step the node if its timer is due; to be called when all input is processed."""
        due = self.node.next_timer()
        if due is not None and due <= self.clock():
            self.step(TimerFired())

    @abstractmethod
    def _carry_out(self, effect: Any) -> None:  # noqa: ANN401 - as above
        """Carry out an effect."""
