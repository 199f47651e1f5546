"""The ways to run a job, and what each of them releases, made comparable.

The oracle's result is text already; what model and engine release is written as text by the oracle's
encoder here, so that one comparison covers order, labels, values and their sameness.  (The sinks' own
writers are tested with the connectors.)
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING
from unittest.mock import patch

from fsql.compiler import logical
from fsql.compiler.lowering.job import lower
from fsql.compiler.plan_choices import PlanChoices, choices_of, with_choices
from fsql.optimizer.choose import choose
from fsql.runtime import order
from fsql.runtime.drivers import in_memory
from fsql.runtime.model.run import run
from fsql.tests.property.twins import few_row_limits
from fsql.tests.reference.lines import json_text, line
from fsql.tests.reference.oracle import evaluate_job

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.tests.reference.oracle import Inputs
    from fsql.tests.reference.relations import Root

    Values = Sequence[Value]


@dataclass(frozen=True)
class Outcome:
    """What a job released.

    `released` has for each INSERT its lines with their roots, in order; `late` for each window operator
    the late rows (root, how many, text), sorted; `dead_letters` a (root, code) for each; `error` the
    code and root that ended the job.
    """

    released: tuple[tuple[tuple[Root, str], ...], ...]
    late: tuple[tuple[tuple[Root, int, str], ...], ...]
    dead_letters: tuple[tuple[Root, int], ...]
    error: tuple[int, Root] | None

    def difference(self, other: Outcome) -> str:
        """Return the first thing in which the outcomes differ, or nothing."""
        for field in ("error", "released", "late", "dead_letters"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine != theirs:
                return _first_difference(field, mine, theirs)
        return ""


def _first_difference(name: str, mine: object, theirs: object) -> str:
    if isinstance(mine, tuple) and isinstance(theirs, tuple) and name != "error":
        for index, (left, right) in enumerate(zip(mine, theirs, strict=False)):
            if left != right:
                nested = isinstance(left, tuple) and left[:1] and isinstance(left[0], tuple)
                inner = _first_difference(f"{name}[{index}]", left, right)
                return inner if nested else f"{name}[{index}]:\n  {left}\n  {right}"
        longer = mine if len(mine) > len(theirs) else theirs
        at = min(len(mine), len(theirs))
        which = "first" if longer is mine else "second"
        return f"{name}: {len(mine)} and {len(theirs)}; only the {which} has [{at}]: {longer[at]}"
    return f"{name}:\n  {mine}\n  {theirs}"


lowered = lru_cache(maxsize=8)(lower)
"""The graph of a job, which runs in several ways."""


def by_oracle(job: logical.Job, inputs: Inputs, *, literal: bool = False) -> Outcome:
    """Evaluate each prefix as a batch."""
    result = evaluate_job(job, inputs, literal=literal)
    schemas = window_schemas(job)
    return Outcome(
        result.released,
        tuple(
            sorted_late_rows((row.root, row.weight, row_text(schema, row.values)) for row in rows)
            for schema, rows in zip(schemas, result.late, strict=True)
        ),
        tuple((dead_letter.root, dead_letter.code) for dead_letter in result.dead_letters),
        result.error,
    )


def by_model(job: logical.Job, inputs: Inputs, *, seed: int, workers: int) -> Outcome:
    """Execute the graph item by item, in an order that the seed decides."""
    result = run(lowered(job), inputs, seed=seed, workers=workers)
    return Outcome(
        tuple(
            tuple(
                (root, line(insert.sink, operation or "+I", row)) for root, operation, row in rows
            )
            for insert, rows in zip(job.inserts, result.sinks, strict=True)
        ),
        tuple(
            sorted_late_rows((root, weight, row_text(schema, row)) for root, row, weight in rows)
            for schema, rows in zip(window_schemas(job), result.late, strict=True)
        ),
        tuple((root, dead_letter.code) for root, dead_letter in result.dead_letters),
        None if result.error is None else (result.error.code, result.error.root),
    )


@dataclass(frozen=True)
class Schedule:
    """How the engine runs: nothing of this may be seen in what it releases."""

    seed: int
    workers: int
    batch_rows: int
    policy: Policy | None
    read_ahead: int = 1_000_000
    pre_aggregates: int = 0
    """From how many rows of a key in a batch on these are pre-aggregated, where that is legal; 0: never."""
    rebalanced: int = 0
    """What percentage of the rows of each table its readers send to other workers."""
    replicated: bool = False
    """Whether folds that may be replicated are."""
    few_rows: bool = True
    """Whether stages treat few rows in Python code of their own, as they do unless a test forbids it."""

    @contextmanager
    def thresholds(self) -> Iterator[None]:
        """Let stages treat few rows as many, and folds few rows as large batches, unless `few_rows`."""
        with ExitStack() as patches:
            if not self.few_rows:
                patches.enter_context(patch.object(order, "LARGE_ROWS", 1))
                for limit in few_row_limits():
                    patches.enter_context(patch(limit, 0))
            yield


@dataclass(frozen=True)
class Effort:
    """What the engine did on the way."""

    rows_redone: int
    rows_held: int
    messages: int
    rebalanced: int


def by_engine(job: logical.Job, inputs: Inputs, schedule: Schedule) -> tuple[Outcome, Effort]:
    """Run the tick plan of a job over in-memory channels, in an order that the seed decides."""
    fronts = {ordinal: len(splits) for ordinal, splits in inputs.items()}
    plan = choose(lowered(job), workers=schedule.workers, fronts=fronts, policy=schedule.policy)
    plan = chosen(plan, schedule)
    with schedule.thresholds():
        result = in_memory.run_in_memory(
            plan,
            inputs,
            seed=schedule.seed,
            batch_rows=schedule.batch_rows,
            read_ahead=schedule.read_ahead,
        )
    effort = Effort(result.rows_redone, result.rows_held, result.messages, result.rebalanced)
    return outcome_of(job, result), effort


def chosen(plan: TickPlan, schedule: Schedule) -> TickPlan:
    """Return a plan with the choices of a schedule."""
    plan = rebalancing(pre_aggregating(plan, schedule.pre_aggregates), schedule.rebalanced)
    return replicating(plan, replicated=schedule.replicated)


def pre_aggregating(plan: TickPlan, least: int) -> TickPlan:
    """Return a plan in which all folds that may get rows pre-aggregated do so, from `least` rows on."""
    choices = tuple((operator, least) for operator, _ in choices_of(plan).pre_aggregations)
    return with_choices(plan, PlanChoices(pre_aggregations=choices))


def replicating(plan: TickPlan, *, replicated: bool) -> TickPlan:
    """Return a plan in which all folds that may be replicated are, or are not."""
    choices = tuple((operator, replicated) for operator, _ in choices_of(plan).replicated)
    return with_choices(plan, PlanChoices(replicated=choices))


def rebalancing(plan: TickPlan, percent: int) -> TickPlan:
    """Return a plan in which the readers of all tables send that percentage of the rows to others."""
    choices = tuple((table, percent) for table, _ in choices_of(plan).rebalanced)
    return with_choices(plan, PlanChoices(rebalanced=choices))


def outcome_of(job: logical.Job, result: in_memory.Outcome) -> Outcome:
    """Return what a run of the engine released, made comparable."""
    stopped = result.stopped
    return Outcome(
        tuple(
            tuple(
                (root, line(insert.sink, operation or "+I", row)) for root, operation, row in rows
            )
            for insert, rows in zip(job.inserts, result.released, strict=True)
        ),
        tuple(
            sorted_late_rows((root, 1, row_text(schema, row)) for root, row in rows)
            for schema, rows in zip(window_schemas(job), result.late, strict=True)
        ),
        tuple((root, dead_letter.code) for root, dead_letter in result.dead_letters),
        None if stopped is None else (stopped.code, stopped.root),
    )


def sorted_late_rows(rows: Iterable[tuple[Root, int, str]]) -> tuple[tuple[Root, int, str], ...]:
    """Return late rows sorted, equal ones counted; a row taken back counts like any other."""
    weights: Counter[tuple[Root, str]] = Counter()
    for root, weight, text in rows:
        weights[root, text] += weight
    return tuple(
        sorted((root, abs(weight), text) for (root, text), weight in weights.items() if weight)
    )


def window_schemas(job: logical.Job) -> list[Schema]:
    """Return the columns of the late rows of each window operator, in the order of the operators."""
    windows = {
        operator: operator.input.schema
        for insert in job.inserts
        for operator in logical.operators(insert.query)
        if logical.has_late_rows(operator)
    }
    return list(windows.values())


def row_text(schema: Schema, row: Values) -> str:
    """Return a row as text."""
    return ", ".join(json_text(plain(v), c.type) for c, v in zip(schema, row, strict=True))


def plain(value: object) -> Value:
    """Return a value of Arrow's Python form in ours."""
    match value:
        case datetime():
            return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        case timedelta():
            return value // timedelta(microseconds=1)
        case Decimal():  # a UBIGINT
            assert value == int(value)
            return int(value)
        case list() | tuple():
            return tuple(plain(item) for item in value)
        case dict():
            return tuple(plain(item) for item in value.values())
        case _:
            assert value is None or isinstance(value, bool | int | float | str)
            return value
