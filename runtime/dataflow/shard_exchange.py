"""Sends the rows of sharded tables to the workers that write their shards.

The shard of a row depends on the row alone, and the worker of a shard is the same for a whole epoch.  So an
undo goes to the same worker as its row, and no change of owners moves a shard.
"""

from __future__ import annotations

from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.dataflow.messages import Parcel, PortKind
from fsql.runtime.dataflow.outbox import BARRIER
from fsql.runtime.dataflow.sharded_rows import shard_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from fsql.compiler.analysis.sharding import Sharding
    from fsql.runtime.batch import Batch


def writer_of(shard: int, writers: int) -> int:
    """Return the worker that writes a shard.

    If shards are left over, the last workers write one more than the others, because the first reads input.
    """
    return writers - 1 - shard % writers


class ShardExchange:
    """Splits the rows that a worker sends to sinks by receiver: the barrier, or the writers of shards."""

    def __init__(
        self,
        shardings: Mapping[int, Sharding] = MappingProxyType({}),
        writers: int = 0,
        own: int = 0,
        accept: Callable[[Parcel], None] = lambda _: None,
    ) -> None:
        """Take the INSERTs whose shards workers write, by number; `accept` gets the rows for worker `own`."""
        self._shardings = shardings
        self._writers = writers
        self._own = own
        self._accept = accept

    @property
    def inserts(self) -> Collection[int]:
        """Return the numbers of the INSERTs whose shards workers write."""
        return self._shardings.keys()

    def parts(self, parcel: Parcel) -> Iterator[tuple[int, Parcel]]:
        """Yield the receivers of a parcel for the barrier, and the part of each."""
        to = parcel.to
        sharding = self._shardings.get(to.side) if to.port is PortKind.SINK else None
        if sharding is None:
            yield BARRIER, parcel
            return
        assert parcel.batch is not None
        for shard, batch in _split(parcel.batch, sharding):
            part = Parcel(to._replace(shard=shard), batch, parcel.repairs)
            writer = writer_of(shard, self._writers)
            if writer == self._own:
                self._accept(part)
            else:
                yield writer, part


def _split(batch: Batch, sharding: Sharding) -> Iterator[tuple[int, Batch]]:
    shards, key = sharding.shards, sharding.shard_key
    numbers = shard_numbers(shards, key, batch.columns, batch.time, batch.origin)
    first = int(numbers[0])
    if (numbers == first).all():
        yield first, batch
        return
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(shards + 1))
    for shard, (start, end) in enumerate(pairwise(bounds)):
        if end > start:
            yield shard, batch.take(order[start:end])
