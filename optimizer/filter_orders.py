"""The order of filters, from the cost and the selectivity of conditions: a pure function, with reasons.

A filter run (`compiler.plan_choices`) is a conjunction of conditions that cannot fail, so they may be
evaluated in any order.  The conditions of one filter are evaluated on all of its input rows; those of the
next filter only on the rows for which all of these were true.  Rows that a filter keeps are copied, which
costs `COPY_SECONDS` per row.  So conditions are ordered by their cost for each row that they drop, and
divided into filters so that the total cost of conditions and copies is least.

Conditions are measured one by one, on all rows of some batches, and in pairs.  So their statistics do not
depend on the current order, and a chosen order is kept.

Conditions may depend on each other: behind one that is true for the same rows, a condition drops nothing.  So
the next condition is always the one that costs least for each row that it drops of those that are left, as in
Babu et al., "Adaptive ordering of pipelined stream filters" (2004).  How many it drops is taken from the pair
with the condition before it on which it depends most: of two conditions this is exact, of more an estimate,
since only pairs are measured.  Pairs without statistics count as independent, and the reason names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.plan_choices import (
    CONDITION,
    FilterOrder,
    choices_of,
    condition_names,
    filter_runs,
)
from fsql.compiler.reasons import Reason
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.optimizer import owner_choice
from fsql.optimizer.owner_choice import HORIZON
from fsql.optimizer.replay import INTERVALS_MIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.statistics import Statistics

COPY_SECONDS: Final = 30e-9
"""The time to copy a row that a filter keeps."""
GAIN_MIN: Final = 0.02
"""The fraction of a core that another order has to save."""
SAVED_MIN: Final = 0.2
"""The fraction of the time of the filters that another order has to save."""
GROUP_MAX: Final = 64
"""The maximum number of conditions of one filter."""

DEPENDENT: Final = 0.02
"""The difference that another condition makes to a selectivity from which on a reason names the pair."""
PAIRS_SHOWN: Final = 3
"""The maximum number of pairs that a reason names."""

Groups = tuple[tuple[int, ...], ...]
Pairs = Mapping[tuple[int, int], float]
NO_PAIRS: Final[Pairs] = MappingProxyType({})


class Measured(NamedTuple):
    """A condition: the seconds for one row, and the fraction of rows for which it is true."""

    seconds: float
    selectivity: float


def choose_filter_orders(
    plan: TickPlan, statistics: Statistics, cost: float = 0.0, intervals: int = INTERVALS_MIN
) -> tuple[tuple[FilterOrder, ...], tuple[Reason, ...]]:
    """Return the filter runs whose order changes, with a reason for each run.

    `cost` is that of a tick.  `intervals` are measured: what conditions take in one varies by more than
    `SAVED_MIN` on a busy machine.
    """
    known = {
        each.operator: Measured(each.busy / each.rows_per_second, each.selectivity)
        for each in statistics.costs
        if each.rows_per_second > 0 and each.selectivity is not None
    }
    rates = {each.operator: each.rows_per_second for each in statistics.costs}
    now = {(each.stage, each.run): each.groups for each in choices_of(plan).filters}
    chosen, reasons = [], []
    for number, stage in enumerate(plan.stages):
        for index in range(len(filter_runs(stage))):
            names = condition_names(stage, index)
            label = names[0].partition(CONDITION)[0]
            unknown = [name for name in names if name not in known]
            if unknown:
                reasons.append(Reason(label, f"stay; no estimate of {', '.join(unknown)}"))
                continue
            if intervals < INTERVALS_MIN:
                text = f"stay; no estimate, {intervals} of {INTERVALS_MIN} intervals are measured"
                reasons.append(Reason(label, text))
                continue
            run = Conditions([known[name] for name in names], _pairs_of(label, statistics))
            rate = rates[names[0]] * SAMPLED_EVERY
            is_better, text = _compare(run, now[number, index], rate, cost)
            if is_better:
                chosen.append(FilterOrder(number, index, best_order(run)))
            what = "other order" if is_better else "stay"
            reasons.append(Reason(label, f"{what}; {text}", changes=is_better))
    return tuple(chosen), tuple(reasons)


def _compare(run: Conditions, groups: Groups, rows: float, cost: float) -> tuple[bool, str]:
    """Return whether the best order is to replace the one in force, at a rate of rows, with the numbers."""
    best = best_order(run)
    before, after = (cost_of(each, run) for each in (groups, best))
    saved = (before - after) * rows
    text = (
        f"{_text(groups)} takes {before * 1e9:.3g} ns a row and {_text(best)}"
        f" {after * 1e9:.3g} ns, which saves {saved:.1%} of a core"
    )
    pays = saved > GAIN_MIN and saved * HORIZON > owner_choice.GAIN_MIN * cost
    is_better = pays and before - after > SAVED_MIN * before
    return is_better, "; ".join([text, *run.reasons()])


def _pairs_of(label: str, statistics: Statistics) -> Pairs:
    return {
        (each.first, each.second): each.given_first
        for each in statistics.pairs
        if each.filter == label
    }


class Conditions:
    """The conditions of a filter run, by number, and in which fraction of rows some of them are true."""

    def __init__(self, measured: Sequence[Measured], pairs: Pairs = NO_PAIRS) -> None:
        """`pairs` has the selectivity of the second condition where the first one is true."""
        self.measured = measured
        self._given = {}
        for (first, second), given in pairs.items():
            both = given * measured[first].selectivity
            self._given[first, second] = given
            if measured[second].selectivity > 0:
                self._given[second, first] = min(1.0, both / measured[second].selectivity)

    def selectivity_behind(self, first: int, second: int) -> float:
        """Return the selectivity of a condition where another one is true; as if independent if unknown."""
        return self._given.get((first, second), self.measured[second].selectivity)

    def stronger(self, number: int, one: float, other: float) -> float:
        """Return which of two selectivities of a condition differs more from that in all rows."""
        alone = self.measured[number].selectivity
        return other if abs(other - alone) > abs(one - alone) else one

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Return the conditions, each time the one that costs least for a row that it drops then."""
        behind = {number: each.selectivity for number, each in enumerate(self.measured)}
        order = []
        while behind:
            _, last = min(
                (_rank(self.measured[number].seconds, part), number)
                for number, part in behind.items()
            )
            order.append(last)
            del behind[last]
            for number, part in behind.items():
                behind[number] = self.stronger(number, part, self.selectivity_behind(last, number))
        return tuple(order)

    def rows_left(self, order: Sequence[int]) -> list[float]:
        """Return the fraction of the rows that is left before each condition, and after all of them.

        What all conditions keep does not depend on their order, so it is estimated in one order only.
        """
        left = self._rows_in(order)
        least = left[-1] if order == self.order else self._rows_in(self.order)[-1]
        return [*(max(each, least) for each in left[:-1]), least]

    def _rows_in(self, order: Sequence[int]) -> list[float]:
        rows = [1.0]
        for index, number in enumerate(order):
            part = self.measured[number].selectivity
            for first in order[:index]:
                part = self.stronger(number, part, self.selectivity_behind(first, number))
            rows.append(rows[-1] * part)
        return rows

    def reasons(self) -> list[str]:
        """Return as text the pairs that depend most on each other, and how many were not measured."""
        found, count, unknown = [], 0, 0
        for first, second in combinations(range(len(self.measured)), 2):
            alone, given = self.measured[second].selectivity, self.selectivity_behind(first, second)
            count += 1
            unknown += (first, second) not in self._given
            if abs(given - alone) > DEPENDENT:
                text = f"#{second} is true for {alone:.0%} of the rows, for {given:.0%} where #{first} is"
                found.append((-abs(given - alone), first, second, text))
        texts = [text for *_, text in sorted(found)[:PAIRS_SHOWN]]
        if not unknown:
            return texts
        pairs = "the pair" if count == 1 else f"{unknown} of {count} pairs"
        return [*texts, f"no estimate of {pairs}, taken as independent"]


def best_order(run: Conditions) -> Groups:
    """Return the conditions in groups, one per filter; cheap ones that drop many rows come first."""
    order = run.order
    rows = run.rows_left(order)
    least = {len(order): (0.0, len(order))}
    """The least cost of the filters from a condition on, and the end of the first of them."""
    for first in reversed(range(len(order))):
        together, choices = 0.0, []
        for end in range(first + 1, min(first + GROUP_MAX, len(order)) + 1):
            together += run.measured[order[end - 1]].seconds
            choices.append((rows[first] * together + rows[end] * COPY_SECONDS + least[end][0], end))
        least[first] = min(choices)
    groups, first = [], 0
    while first < len(order):
        end = least[first][1]
        groups.append(tuple(order[first:end]))
        first = end
    return tuple(groups)


def cost_of(groups: Groups, run: Conditions) -> float:
    """Return the seconds that filters take per row of their input."""
    rows = run.rows_left(tuple(number for group in groups for number in group))
    seconds, done = 0.0, 0
    for group in groups:
        seconds += rows[done] * sum(run.measured[number].seconds for number in group)
        done += len(group)
        seconds += rows[done] * COPY_SECONDS
    return seconds


def _rank(seconds: float, selectivity: float) -> float:
    """Return the cost of a condition per row that it drops."""
    dropped = 1 - selectivity
    return seconds / dropped if dropped > 0 else float("inf")


def _text(groups: Groups) -> str:
    return ", then ".join(" and ".join(f"#{number}" for number in group) for group in groups)
