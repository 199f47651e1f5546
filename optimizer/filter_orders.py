"""The order of filters, from the cost and the selectivity of conditions: a pure function, with reasons.

A filter run (`compiler.plan_choices`) is a conjunction of conditions that cannot fail, so they may be
evaluated in any order.  The conditions of one filter are evaluated on all of its input rows; those of the
next filter only on the rows for which all of these were true.  Rows that a filter keeps are copied, which
costs `COPY_SECONDS` per row.  So conditions are ordered by their cost for each row that they drop, and
divided into filters so that the total cost of conditions and copies is least.

Conditions are measured one by one, on all rows of some batches.  So their statistics do not depend on the
current order, and a chosen order is kept.  Conditions are assumed to be independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.plan_choices import (
    CONDITION,
    FilterOrder,
    choices_of,
    condition_names,
    filter_runs,
)
from fsql.compiler.statistics import SAMPLED_EVERY

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

Groups = tuple[tuple[int, ...], ...]


class Measured(NamedTuple):
    """A condition: the seconds for one row, and the fraction of rows for which it is true."""

    seconds: float
    selectivity: float


def choose_filter_orders(
    plan: TickPlan, statistics: Statistics
) -> tuple[tuple[FilterOrder, ...], tuple[str, ...]]:
    """Return the filter runs whose order changes, with a reason for each run."""
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
                reasons.append(f"{label}: stay; no estimate of {', '.join(unknown)}")
                continue
            measured = [known[name] for name in names]
            groups = now[number, index]
            best = best_order(measured)
            rows = rates[names[0]] * SAMPLED_EVERY
            before, after = (cost_of(each, measured) for each in (groups, best))
            saved = (before - after) * rows
            text = (
                f"{_text(groups)} takes {before * 1e9:.3g} ns a row and {_text(best)}"
                f" {after * 1e9:.3g} ns, which saves {saved:.1%} of a core"
            )
            if saved > GAIN_MIN and before - after > SAVED_MIN * before:
                chosen.append(FilterOrder(number, index, best))
                reasons.append(f"{label}: other order; {text}")
            else:
                reasons.append(f"{label}: stay; {text}")
    return tuple(chosen), tuple(reasons)


def best_order(conditions: Sequence[Measured]) -> Groups:
    """Return the conditions in groups, one per filter; cheap ones that drop many rows come first."""
    order = sorted(range(len(conditions)), key=lambda number: (_rank(conditions[number]), number))
    rows = [1.0]
    """The fraction of the rows that is left before each condition, and after all."""
    for number in order:
        rows.append(rows[-1] * conditions[number].selectivity)
    least = {len(order): (0.0, len(order))}
    """The least cost of the filters from a condition on, and the end of the first of them."""
    for first in reversed(range(len(order))):
        together, choices = 0.0, []
        for end in range(first + 1, min(first + GROUP_MAX, len(order)) + 1):
            together += conditions[order[end - 1]].seconds
            choices.append((rows[first] * together + rows[end] * COPY_SECONDS + least[end][0], end))
        least[first] = min(choices)
    groups, first = [], 0
    while first < len(order):
        end = least[first][1]
        groups.append(tuple(order[first:end]))
        first = end
    return tuple(groups)


def cost_of(groups: Groups, conditions: Sequence[Measured]) -> float:
    """Return the seconds that filters take per row of their input."""
    seconds, rows = 0.0, 1.0
    for group in groups:
        seconds += rows * sum(conditions[number].seconds for number in group)
        for number in group:
            rows *= conditions[number].selectivity
        seconds += rows * COPY_SECONDS
    return seconds


def _rank(condition: Measured) -> float:
    """Return the cost of a condition per row that it drops."""
    dropped = 1 - condition.selectivity
    return condition.seconds / dropped if dropped > 0 else float("inf")


def _text(groups: Groups) -> str:
    return ", then ".join(" and ".join(f"#{number}" for number in group) for group in groups)
