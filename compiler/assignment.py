"""The assignment of a tick plan: which worker owns which fronts and which hash bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler.owner_map import BIN_SHIFT, OwnerMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.owner_map import BinRanges


@dataclass(frozen=True, slots=True)
class FrontTask:
    """A front: its number in the job, and the table and split that it reads."""

    number: int
    ordinal: int
    split: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """The owner of each front and of each hash bin.

    The first `readers` workers take fronts in turn, by number: the number of fronts is not known to the plan.
    0 means all workers.  Workers that join later own bins only.
    """

    bins: OwnerMap
    readers: int = 0

    @property
    def workers(self) -> int:
        """Return how many workers there are."""
        return self.bins.workers

    def owner_of_front(self, front: int) -> int:
        """Return the worker that reads for a front, given its number."""
        return front % (self.readers or self.bins.workers)

    def fronts_of(self, worker: int, fronts: Iterable[FrontTask]) -> tuple[FrontTask, ...]:
        """Return those of the job's fronts that a worker reads for."""
        return tuple(task for task in fronts if self.owner_of_front(task.number) == worker)

    def owner_of_hash(self, key_hash: int) -> int:
        """Return the worker that owns the keys with a hash of 32 bits."""
        return self.bins.owners[key_hash >> BIN_SHIFT]

    def bins_of(self, worker: int) -> BinRanges:
        """Return the hash bins that a worker owns."""
        return self.bins.bins_of(worker)
