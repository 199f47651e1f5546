"""Owner maps that level what each worker has to do, with few moves."""

from __future__ import annotations

from bisect import bisect_right, insort
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import OwnerMap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE: Final = 0.02
"""By what part of the mean the busiest and the idlest worker may differ."""


def level(owners: OwnerMap, costs: Mapping[int, float], fixed: Sequence[float]) -> OwnerMap:
    """Return the map in which workers have about the same to do, as far as bins allow.

    Bins move from the worker that has most to the one that has least, each the one of greatest cost that
    makes the two more alike.  Bins without cost stay.  The result depends on the arguments only.

    Args:
        owners: who owns the bins now.
        costs: what each bin costs; those left out cost nothing.
        fixed: for each worker what it has to do besides, which cannot be moved.
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
            continue  # it has changed since
        while fewest[0][0] != loads[fewest[0][1]]:
            heappop(fewest)
        taker = fewest[0][1]
        difference = loads[giver] - loads[taker]
        index = bisect_right(bins[giver], (difference / 2, len(after))) - 1
        index = max(
            0, index
        )  # without such a bin, the least one, if that still makes the greater less
        if difference <= least or not bins[giver] or bins[giver][index][0] >= difference - least:
            continue  # this worker has as little as it can have
        cost, number = bins[giver].pop(index)
        insort(bins[taker], (cost, number))
        after[number] = taker
        for worker, change in ((giver, -cost), (taker, cost)):
            loads[worker] += change
            heappush(most, (-loads[worker], worker))
            heappush(fewest, (loads[worker], worker))
    return OwnerMap(tuple(after), owners.workers)
