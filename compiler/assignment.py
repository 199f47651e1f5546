"""The assignment of a tick plan: which worker owns which fronts, and which hash bins of which exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.owners import Owners


@dataclass(frozen=True, slots=True)
class FrontTask:
    """A front: its number in the job, and the table and split that it reads."""

    number: int
    ordinal: int
    split: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """The owner of each front and of each hash bin of each exchange.

    `readers` has the owner of each front, by number.  With () all workers take fronts in turn: the number of
    fronts is not known to the plan.
    """

    owners: Owners
    readers: tuple[int, ...] = ()

    @property
    def workers(self) -> int:
        """Return how many workers there are."""
        return self.owners.workers

    def owner_of_front(self, front: int) -> int:
        """Return the worker that reads for a front, given its number."""
        return self.readers[front] if self.readers else front % self.owners.workers

    def fronts_of(self, worker: int, fronts: Iterable[FrontTask]) -> tuple[FrontTask, ...]:
        """Return those of the job's fronts that a worker reads for."""
        return tuple(task for task in fronts if self.owner_of_front(task.number) == worker)

    def readers_of(self, fronts: Iterable[FrontTask]) -> tuple[int, ...]:
        """Return the owner of each of all `fronts` of a job, by number."""
        return tuple(self.owner_of_front(number) for number, _ in enumerate(fronts))


def spread_fronts(readers: Sequence[int], workers: int) -> tuple[int, ...]:
    """Return owners of fronts for another number of workers, given the present ones, by number.

    No worker gets more fronts than it must, and no more fronts than that requires change their owners.
    """
    most = -(-len(readers) // workers)
    counts = [0] * workers
    spread = list(readers)
    moves = []
    for front, owner in enumerate(readers):
        if owner < workers and counts[owner] < most:
            counts[owner] += 1
        else:
            moves.append(front)
    for front in moves:
        spread[front] = least = counts.index(min(counts))
        counts[least] += 1
    return tuple(spread)


def are_readers(readers: Sequence[int], fronts: int, workers: int) -> bool:
    """Return whether these are owners of that number of fronts, among that number of workers."""
    return len(readers) == fronts and all(0 <= owner < workers for owner in readers)
