"""Chooses the folds whose hot keys are pre-aggregated, from statistics, with reasons.

A bin has one owner, so a key with more than one worker's share of the rows limits how far owner maps can
level loads.  If such a key alone makes a worker the busiest by `IMBALANCE`, and this worker is busy enough,
its rows are pre-aggregated on the workers that read them.  Those of a join can be divided by the hint SKEW,
which is part of the query, so this is only said.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from fsql.compiler.graph import CombineJoin
from fsql.compiler.logical import JoinKind
from fsql.compiler.pre_aggregation import pre_aggregations_of
from fsql.compiler.reasons import Reason
from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.owner_choice import GAIN_MIN, HORIZON
from fsql.optimizer.replay import INTERVALS_MIN

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.statistics import HeavyKey, Statistics

IMBALANCE: Final = 0.1
FOLD_BUSY_MIN: Final = 0.05
"""The minimum load of a fold for which pre-aggregation is considered, as a fraction of a core."""
ROWS_MIN: Final = 256
"""The minimum rows of a key in a batch: to replace them costs as much as about 100 rows of the fold."""


def choose_pre_aggregations(
    plan: TickPlan, statistics: Statistics, since: int | None = None, cost: float = 0.0
) -> tuple[tuple[tuple[str, int], ...], list[Reason]]:
    """Return the folds that get pre-aggregated rows from now on, and a reason for each fold that can.

    Only measurements after interval `since` count.  If it is None, the job has not run: then only the share
    of a key decides.  `cost` is that of a tick.
    """
    chosen, reasons = [], []
    for operator, least in sorted(pre_aggregations_of(plan).items()):
        hot = _hottest(statistics, operator)
        label = f"hot keys of {operator}"
        if least:
            share = "" if hot is None else f"; {_share(hot)}"
            reasons.append(Reason(label, f"pre-aggregated from {least:,} rows on, stays{share}"))
        elif plan.workers == 1:
            reasons.append(Reason(label, "stay; there is one worker"))
        elif hot is None:
            is_known = any(each.operator == operator for each in statistics.loads)
            found = "no key has many of the rows" if is_known else "no estimate of its rows"
            reasons.append(Reason(label, f"stay; {found}"))
        else:
            busy = None if since is None else _busy(statistics, operator, since)
            gain = _gain(hot, plan.workers)
            is_enough = since is None if busy is None else busy >= FOLD_BUSY_MIN
            saved = (busy or 0.0) * (1 - 1 / gain) * HORIZON if gain > 1 else 0.0
            is_worth_it = since is None or saved > GAIN_MIN * cost
            pays = gain > 1 + IMBALANCE and is_enough and is_worth_it
            if pays:
                chosen.append((operator, ROWS_MIN))
            what = f"pre-aggregated from {ROWS_MIN} rows on" if pays else "stay"
            takes = (
                "no estimate of what the fold takes"
                if busy is None
                else f"the fold takes {busy:.0%} of a core on its busiest worker"
            )
            text = f"{what}; {_share(hot)}, so its worker gets {gain:.2f} times the mean or more; {takes}"
            reasons.append(Reason(label, text, changes=pays))
    return tuple(chosen), reasons


def advise_divisions(plan: TickPlan, statistics: Statistics) -> list[Reason]:
    """Return a line for each inner join with a key that makes a worker the busiest: a hint may divide it.

    Joins that may have such a key, and whose rows are not known, have a line as well.
    """
    lines = []
    for stage in plan.stages:
        head = stage.head
        if not isinstance(head, FoldHead) or not isinstance(head.combine, CombineJoin):
            continue
        join = head.combine
        may = join.kind is JoinKind.INNER and join.input_append_only and not join.by_position
        if not may or plan.workers == 1:
            continue
        found, label = _hottest_of_sides(statistics, head.operator), f"hot keys of {head.operator}"
        if not any(each.operator == head.operator for each in statistics.loads):
            lines.append(Reason(label, "stay; no estimate of its rows"))
        elif found is not None and _gain(found, plan.workers) > 1 + IMBALANCE:
            side = "right" if found.side else "left"
            text = (
                f"stay; {_share(found)}, on the {side}, so its worker gets"
                f" {_gain(found, plan.workers):.2f} times the mean or more; the hint SKEW can divide them"
            )
            lines.append(Reason(label, text))
    return lines


def _hottest_of_sides(statistics: Statistics, operator: str) -> HeavyKey | None:
    """Return the known key of a join with the most rows of a side; its share is that of both sides' rows."""
    rates: defaultdict[int, float] = defaultdict(float)
    for each in statistics.loads:
        if each.operator == operator:
            rates[each.side] += each.rows_per_second
    total = sum(rates.values())
    of_both = [
        each._replace(share=each.share * rates[each.side] / total)
        for each in statistics.heavy
        if each.operator == operator and total
    ]
    return max(of_both, key=lambda each: (each.share, -each.hash), default=None)


def _hottest(statistics: Statistics, operator: str) -> HeavyKey | None:
    """Return the known key of a fold with the most rows, if there is any."""
    of_fold = [each for each in statistics.heavy if each.operator == operator]
    return max(of_fold, key=lambda each: (each.share, -each.hash), default=None)


def _gain(hot: HeavyKey, workers: int) -> float:
    """Return the rows of a worker that has only this key, divided by the mean of all workers."""
    return hot.share * workers


def _share(hot: HeavyKey) -> str:
    return f"key {hot.key!r} has {hot.share:.0%} of the rows"


def _busy(statistics: Statistics, operator: str, since: int) -> float | None:
    """Return the fraction of time for which the busiest worker ran a fold in the last intervals.

    None if too few are measured: what a fold takes in one of them may be due to other programs.
    """
    of_workers: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for each in statistics.operators:
        if each.operator == operator and each.interval > since:
            of_workers[each.worker][each.interval] = each.busy
    known = [
        sum(busy for _, busy in sorted(of.items())[-INTERVALS_MIN:]) / INTERVALS_MIN
        for of in of_workers.values()
        if len(of) >= INTERVALS_MIN
    ]
    return max(known, default=None)
