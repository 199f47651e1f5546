"""The choices of a tick plan as text, and how two plans of one graph differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.explain.expressions import expression_text, labels
from fsql.compiler.owner_map import BINS, bin_ranges
from fsql.compiler.plan_choices import choices_of, filter_runs
from fsql.compiler.tick_plan import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.owner_map import OwnerMap
    from fsql.compiler.owners import Owners
    from fsql.compiler.plan_choices import FilterOrder, PlanChoices
    from fsql.compiler.tick_plan import TickPlan

FilterTexts = tuple[tuple[str, ...], ...]
"""The conjuncts of each filter of a run, in the order in which they are evaluated."""

_RANGES_SHOWN: Final = 8
"""The number of ranges of bins that a line shows."""


def conjunct_texts(plan: TickPlan, stage: int, run: int) -> tuple[str, ...]:
    """Return the conjuncts of a filter run, by number."""
    found = filter_runs(plan.stages[stage])[run]
    below = plan.stages[stage].steps[found.steps[0]].input
    names = labels(schema_of(plan.stages[stage], below))
    return tuple(expression_text(each, names) for each in found.conjuncts)


def filter_texts(plan: TickPlan, order: FilterOrder) -> FilterTexts:
    """Return the conjuncts of each filter of a run, in the order of a choice."""
    texts = conjunct_texts(plan, order.stage, order.run)
    return tuple(tuple(texts[number] for number in group) for group in order.groups)


def changed_plan(before: TickPlan, after: TickPlan) -> Iterator[str]:
    """Yield the differences between two plans of one graph, a line each: workers, owners and choices."""
    yield from changed_owners(before.assignment.owners, after.assignment.owners)
    yield from changed_choices(before, after)


def changed_owners(before: Owners, after: Owners) -> Iterator[str]:
    """Yield the number of workers, if it changes, and the bins that move from a worker to another."""
    if before.workers != after.workers:
        yield f"workers: {after.workers}, was {before.workers}"
    yield from _changed_map("owners", before.every, after.every)
    for exchange in sorted({name for name, _ in (*before.exchanges, *after.exchanges)}):
        name = f"owners of {exchange}"
        yield from _changed_map(name, before.of(exchange), after.of(exchange))


def _changed_map(name: str, before: OwnerMap, after: OwnerMap) -> Iterator[str]:
    moved: dict[tuple[int, int], list[int]] = {}
    for number, (was, now) in enumerate(zip(before.owners, after.owners, strict=True)):
        if was != now:
            moved.setdefault((was, now), []).append(number)
    for (was, now), bins in sorted(moved.items()):
        ranges = bin_ranges(bins)
        shown = ", ".join(f"[{first}, {end})" for first, end in ranges[:_RANGES_SHOWN])
        more = len(ranges) - _RANGES_SHOWN
        rest = (
            f" and {count_text(more)} more {'range' if more == 1 else 'ranges'}" if more > 0 else ""
        )
        count = f"{count_text(len(bins))} {'bin' if len(bins) == 1 else 'bins'}"
        yield f"{name}: worker {now}, was {was}, of {count}, {len(bins) / BINS:.1%}: {shown}{rest}"


def changed_choices(before: TickPlan, after: TickPlan) -> Iterator[str]:
    """Yield the differences between two plans of one graph, a line each."""
    old, new = choices_of(before), choices_of(after)
    policies = dict(old.policies)
    for operator, policy in new.policies:
        if policy is not policies[operator]:
            yield f"policy of {operator}: {policy.value}, was {policies[operator].value}"
    least_rows = dict(old.pre_aggregations)
    for operator, least in new.pre_aggregations:
        if least != least_rows[operator]:
            was_text = pre_aggregation_text(least_rows[operator])
            yield f"rows for {operator}: {pre_aggregation_text(least)}, was: {was_text}"
    copied = dict(old.replicated)
    for operator, replicated in new.replicated:
        if replicated != copied[operator]:
            was_text = replicas_text(replicated=copied[operator])
            yield f"replicas of {operator}: {replicas_text(replicated=replicated)}, was: {was_text}"
    yield from _changed_tables(old, new)
    for was, now in zip(old.filters, new.filters, strict=True):
        if was != now:
            texts = [_text(filter_texts(before, order)) for order in (now, was)]
            yield f"filters of stage {now.stage}: {texts[0]}; was {texts[1]}"


def _changed_tables(old: PlanChoices, new: PlanChoices) -> Iterator[str]:
    rebalanced = dict(old.rebalanced)
    for table, percent in new.rebalanced:
        if percent != rebalanced[table]:
            was_text = rebalanced_text(rebalanced[table])
            yield f"rows of {table}: {rebalanced_text(percent)}, was: {was_text}"
    lingers = dict(old.lingers)
    for table, milliseconds in new.lingers:
        if milliseconds != lingers[table]:
            yield f"linger of {table}: {linger_text(milliseconds)}, was: {linger_text(lingers[table])}"


def pre_aggregation_text(least: int) -> str:
    """Return the number of rows of a key in a batch from which on they are pre-aggregated."""
    return f"pre-aggregated from {least:,} of a key on" if least else "not pre-aggregated"


def replicas_text(*, replicated: bool) -> str:
    """Return where the side of a join is that may be replicated."""
    return "on all workers" if replicated else "none"


def rebalanced_text(percent: int) -> str:
    """Return how much of a table its readers send to other workers before the first stage."""
    return f"{percent} % to other workers" if percent else "not rebalanced"


def linger_text(milliseconds: int) -> str:
    """Return for how long the reader of a table waits between two small chunks."""
    return f"{milliseconds} ms" if milliseconds else "none"


def _text(filters: FilterTexts) -> str:
    return ", then ".join(" AND ".join(f"({each})" for each in group) for group in filters)
