"""Owner maps that level the load of workers, with few moves."""

from __future__ import annotations

from bisect import bisect_right, insort
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.owners import Owners

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

TOLERANCE: Final = 0.02
"""The fraction of the mean by which the loads of the busiest and the idlest worker may differ."""

GROUPS_MAX: Final = 16
"""The number of groups of exchanges up to which each has an owner map of its own; a map takes some time."""


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


def level_exchanges(
    owners: Owners,
    costs: Mapping[str, Mapping[int, float]],
    fixed: Sequence[float],
    shared: Sequence[Collection[str]],
) -> Owners:
    """Return owners with which each exchange, and all of them together, load the workers about equally.

    The exchanges are levelled one after the other, the most expensive first, each over the load that workers
    have from those before.  Then each is levelled again over the load from all others: a bin that is heavy in
    one exchange may need its worker to have less of those that were levelled before.

    Args:
        owners: the current owners of the bins.
        costs: the cost of each bin of each exchange, by name.
        fixed: the load of each worker that cannot be moved.
        shared: exchanges that get the same map, because rows stay on their worker between them; each exchange
            is in one group.  If there are more than `GROUPS_MAX` groups, all exchanges get the same map.
    """
    if len(shared) > GROUPS_MAX:
        shared = [[name for names in shared for name in names]]
    loads, maps = list(fixed), {name: owners.of(name) for names in shared for name in names}
    found = [(costs_of_all(costs, names), names) for names in shared]
    groups = sorted(
        ((of_group, names) for of_group, names in found if of_group),
        key=lambda each: (-sum(each[0].values()), min(each[1])),
    )
    for is_first in (True, False):
        for of_group, names in groups:
            before = maps[min(names)]
            if not is_first:
                own = by_owner(before, of_group)
                loads = [load - of_worker for load, of_worker in zip(loads, own, strict=True)]
            after = level(before, of_group, loads)
            own = by_owner(after, of_group)
            loads = [load + of_worker for load, of_worker in zip(loads, own, strict=True)]
            maps.update(dict.fromkeys(names, after))
    different = set(maps.values())
    return Owners(different.pop()) if len(different) == 1 else Owners.of_maps(owners.every, maps)


def costs_of_all(
    costs: Mapping[str, Mapping[int, float]], exchanges: Iterable[str]
) -> dict[int, float]:
    """Return the cost of each bin in several exchanges together."""
    found: dict[int, float] = {}
    for name in sorted(exchanges):
        for number, cost in costs.get(name, {}).items():
            found[number] = found.get(number, 0.0) + cost
    return found


def by_owner(owners: OwnerMap, costs: Mapping[int, float]) -> list[float]:
    """Return the total cost of the bins of each worker."""
    found = [0.0] * owners.workers
    for number, cost in sorted(costs.items()):
        found[owners.owners[number]] += cost
    return found


def by_owners(owners: Owners, costs: Mapping[str, Mapping[int, float]]) -> list[float]:
    """Return the total cost of the bins of each worker in all exchanges."""
    loads = [by_owner(owners.of(name), of_bins) for name, of_bins in sorted(costs.items())]
    return [sum(of_worker) for of_worker in zip([0.0] * owners.workers, *loads, strict=True)]
