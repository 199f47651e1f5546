"""The ways to run a job, and what each of them releases, made comparable.

The oracle's result is text already; what model and engine release is written as text by the oracle's
encoder here, so that one comparison covers order, labels, values and their sameness.  (The sinks' own
writers are tested with the connectors.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.lowering.job import lower
from fsql.runtime.model.run import run
from fsql.tests.reference.lines import json_text, line
from fsql.tests.reference.oracle import evaluate_job

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.tests.reference.oracle import Inputs
    from fsql.tests.reference.relations import Root

    Values = Sequence[Value]


@dataclass(frozen=True)
class Outcome:
    """What a job released.

    `released` has for each INSERT its lines with their roots, in order; `late` for each window operator
    the late rows (root, weight, text), sorted; `rejects` the (root, code) of each malformed row; `error`
    the code and root that ended the job.
    """

    released: tuple[tuple[tuple[Root, str], ...], ...]
    late: tuple[tuple[tuple[Root, int, str], ...], ...]
    rejects: tuple[tuple[Root, int], ...]
    error: tuple[int, Root] | None

    def difference(self, other: Outcome) -> str:
        """Return the first thing in which the outcomes differ, or nothing."""
        for field in ("error", "released", "late", "rejects"):
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


def by_oracle(job: logical.Job, inputs: Inputs, *, literal: bool = False) -> Outcome:
    """Evaluate each prefix as a batch."""
    result = evaluate_job(job, inputs, literal=literal)
    schemas = window_schemas(job)
    return Outcome(
        result.released,
        tuple(
            late_bag((row.root, row.weight, row_text(schema, row.values)) for row in rows)
            for schema, rows in zip(schemas, result.late, strict=True)
        ),
        tuple((reject.root, reject.code) for reject in result.rejects),
        result.error,
    )


def by_model(job: logical.Job, inputs: Inputs, *, seed: int, workers: int) -> Outcome:
    """Execute the graph item by item, in an order that the seed decides."""
    result = run(lower(job), inputs, seed=seed, workers=workers)
    return Outcome(
        tuple(
            tuple(
                (root, line(insert.sink, operation or "+I", row)) for root, operation, row in rows
            )
            for insert, rows in zip(job.inserts, result.sinks, strict=True)
        ),
        tuple(
            late_bag((root, weight, row_text(schema, row)) for root, row, weight in rows)
            for schema, rows in zip(window_schemas(job), result.late, strict=True)
        ),
        tuple((root, reject.code) for root, reject in result.rejects),
        None if result.error is None else (result.error.code, result.error.root),
    )


def late_bag(rows: Iterable[tuple[Root, int, str]]) -> tuple[tuple[Root, int, str], ...]:
    """Return late rows sorted, the weights of equal ones summed."""
    weights: Counter[tuple[Root, str]] = Counter()
    for root, weight, text in rows:
        weights[root, text] += weight
    return tuple(sorted((root, weight, text) for (root, text), weight in weights.items() if weight))


def window_schemas(job: logical.Job) -> list[Schema]:
    """Return the columns of the late rows of each window operator, in the order of the operators."""
    windows = {
        operator: operator.input.schema
        for insert in job.inserts
        for operator in logical.operators(insert.query)
        if isinstance(operator, logical.WindowAggregate)
    }
    return list(windows.values())


def row_text(schema: Schema, row: Values) -> str:
    """Return a row as text."""
    return ", ".join(json_text(value, c.type) for c, value in zip(schema, row, strict=True))
