"""Membership: which workers there are, and which of them take part in the epoch.

Contract.  A worker is known by the name that it chose at its start.  Each address has one worker: the last
that sent a Hello from there.  Workers of an epoch keep their numbers in the next one if possible.  A worker
that joins a running epoch gets a number that no worker of the epoch has had.  The worker in the process of
the coordinator has number 0 and therefore the first front, whose rows then need no hop between processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

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
        self.wanted = wanted
        """The number of workers that an epoch needs to begin."""
        self._own_address = own_address
        self._hello_within = settings.failure_after
        self._members: dict[str, _Member] = {}

    @property
    def names(self) -> dict[int, str]:
        """Return the names of the workers of the epoch, by number."""
        taking_part = [
            (each.number, each.name) for each in self._members.values() if each.number is not None
        ]
        return dict(sorted(taking_part))

    def idle(self, now: float) -> tuple[str, ...]:
        """Return the addresses of the workers that may join."""
        return tuple(member.address for member in self._idle(now))

    def on_hello(self, name: str, address: str, now: float) -> int | None:
        """Record an idle worker; return the number of the worker of the epoch that it shows to be lost."""
        old = self._members.get(address)
        if old is not None and old.name == name:
            if old.number is None:
                old.hello_at = now
            # Otherwise it does not know yet that it takes part, or has left the epoch.
            return None
        lost = None if old is None else old.number
        last_number = None if old is None else old.last_number
        self._members[address] = _Member(name, address, now, None, last_number)
        return lost

    def on_exit(self, address: str) -> int | None:
        """Record that the process at an address has exited; return its number in the epoch, if it had one."""
        member = self._members.pop(address, None)
        return None if member is None else member.number

    def are_enough(self, now: float) -> bool:
        """Return whether there are enough workers to begin an epoch."""
        return len(self._idle(now)) >= self.wanted

    def assign_idle(self, count: int, first: int, now: float) -> dict[int, str]:
        """Assign numbers from `first` on to at most `count` idle workers; return addresses by number."""
        joining = {}
        for number, member in enumerate(self._idle(now)[:count], first):
            member.number = member.last_number = number
            joining[number] = member.address
        return joining

    def release(self, number: int) -> None:
        """Remove a worker from the epoch; it has to send a Hello before it is chosen again."""
        for member in self._members.values():
            if member.number == number:
                member.number, member.hello_at = None, float("-inf")

    def choose(self, now: float) -> list[str]:
        """Assign numbers to the wanted number of workers; return their addresses by number."""
        idle = self._idle(now)
        by_last_number: dict[int, _Member] = {}
        for member in idle:
            last = member.last_number
            if last is not None and last < self.wanted:
                by_last_number.setdefault(last, member)
            if member.address == self._own_address:
                by_last_number[0] = member
        rest = [member for member in idle if member not in by_last_number.values()]
        chosen = [by_last_number.get(number) or rest.pop(0) for number in range(self.wanted)]
        for number, member in enumerate(chosen):
            member.number = member.last_number = number
        return [member.address for member in chosen]

    def scatter(self) -> None:
        """Remove all workers from the epoch; each has to send a Hello before it is chosen again."""
        for member in self._members.values():
            if member.number is not None:
                member.number = None
                member.hello_at = float("-inf")

    def addresses(self) -> list[str]:
        """Return all known addresses."""
        return list(self._members)

    def _idle(self, now: float) -> list[_Member]:
        return [
            member
            for member in self._members.values()
            if member.number is None and now - member.hello_at <= self._hello_within
        ]
