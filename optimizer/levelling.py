"""Owner maps that level the load of workers, with few moves."""

from __future__ import annotations

from bisect import bisect_right, insort
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import OwnerMap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE: Final = 0.02
"""The fraction of the mean by which the loads of the busiest and the idlest worker may differ."""


def level(owners: OwnerMap, costs: Mapping[int, float], fixed: Sequence[float]) -> OwnerMap:
    """Return an owner map in which workers have about equal loads, as far as bins allow.

    Bins move from the worker with the greatest load to the one with the least: in each move, the bin of
    greatest cost that reduces the difference.  Bins without cost do not move.

    Args:
        owners: the current owners of the bins.
        costs: the cost of each bin; missing bins cost nothing.
        fixed: the load of each worker that cannot be moved.
    """
    workers = len(fixed)
    bins: list[list[tuple[float, int]]] = [[] for _ in range(workers)]
    for number, cost in sorted(costs.items()):
        if cost > 0:
            bins[owners.owners[number]].append((cost, number))
    for each in bins:
        each.sort()
    loads = [rest + sum(cost for cost, _ in own) for rest, own in zip(fixed, bins, strict=True)]
    least = TOLERANCE * sum(loads) / workers
    after = list(owners.owners)
    most = [(-load, worker) for worker, load in enumerate(loads)]
    fewest = [(load, worker) for worker, load in enumerate(loads)]
    heapify(most)
    heapify(fewest)
    while most:
        load, giver = heappop(most)
        if -load != loads[giver]:
            continue  # this load has changed since it was queued
        while fewest[0][0] != loads[fewest[0][1]]:
            heappop(fewest)
        taker = fewest[0][1]
        difference = loads[giver] - loads[taker]
        index = bisect_right(bins[giver], (difference / 2, len(after))) - 1
        index = max(0, index)  # without such a bin, the one of least cost, if it helps
        if difference <= least or not bins[giver] or bins[giver][index][0] >= difference - least:
            continue  # the load of this worker cannot be reduced
        cost, number = bins[giver].pop(index)
        insort(bins[taker], (cost, number))
        after[number] = taker
        for worker, change in ((giver, -cost), (taker, cost)):
            loads[worker] += change
            heappush(most, (-loads[worker], worker))
            heappush(fewest, (loads[worker], worker))
    return OwnerMap(tuple(after), owners.workers)
