"""Membership: which workers there are, and which of them take part in the epoch.

Contract.  A worker is known by the name that it chose at its start.  Each address has one worker: the last
that sent a Hello from there.  Workers of an epoch keep their numbers in the next one if possible.  The worker
in the process of the coordinator has number 0 and so the first front: its rows take no hop between processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import Settings


@dataclass(slots=True)
class _Member:
    name: str
    address: str
    hello_at: float
    number: int | None = None
    last_number: int | None = None


class Members:
    """The workers that a coordinator knows."""

    def __init__(self, wanted: int, settings: Settings, own_address: str) -> None:
        self._wanted = wanted
        self._own_address = own_address
        self._hello_within = settings.failure_after
        self._members: dict[str, _Member] = {}

    @property
    def of_epoch(self) -> list[tuple[str, str]]:
        """Return name and address of the workers of the epoch, by number."""
        taking_part = [member for member in self._members.values() if member.number is not None]
        taking_part.sort(key=lambda member: member.number or 0)
        return [(member.name, member.address) for member in taking_part]

    def on_hello(self, name: str, address: str, now: float) -> bool:
        """Record an idle worker; return whether a worker of the epoch is lost by that."""
        old = self._members.get(address)
        if old is not None and old.name == name:
            if old.number is None:
                old.hello_at = now
            # Otherwise it does not know yet that it takes part, or has left the epoch.
            return False
        lost = old is not None and old.number is not None
        last_number = None if old is None else old.last_number
        self._members[address] = _Member(name, address, now, None, last_number)
        return lost

    def on_exit(self, address: str) -> bool:
        """Record that the process at an address has exited; return whether it took part in the epoch."""
        member = self._members.pop(address, None)
        return member is not None and member.number is not None

    def are_enough(self, now: float) -> bool:
        """Return whether there are enough workers to begin an epoch."""
        return len(self._idle(now)) >= self._wanted

    def choose(self, now: float) -> list[str]:
        """Give numbers to as many workers as are wanted; return their addresses by number."""
        idle = self._idle(now)
        places: dict[int, _Member] = {}
        for member in idle:
            last = member.last_number
            if last is not None and last < self._wanted:
                places.setdefault(last, member)
            if member.address == self._own_address:
                places[0] = member
        rest = [member for member in idle if member not in places.values()]
        for number in range(self._wanted):
            member = places[number] if number in places else rest.pop(0)
            member.number = member.last_number = number
        return [address for _, address in self.of_epoch]

    def scatter(self) -> None:
        """End the part of all workers in the epoch; each has to send a Hello before it is chosen again."""
        for member in self._members.values():
            if member.number is not None:
                member.number = None
                member.hello_at = float("-inf")

    def addresses(self) -> list[str]:
        """Return all addresses known."""
        return list(self._members)

    def _idle(self, now: float) -> list[_Member]:
        return [
            member
            for member in self._members.values()
            if member.number is None and now - member.hello_at <= self._hello_within
        ]
