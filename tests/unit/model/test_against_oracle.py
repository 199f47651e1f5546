"""The model against the prefix oracle, which shares no code with it.

Random plans of the gallery, random inputs with NULLs, NaN, malformed and late rows, every interleaving
and number of workers: rows, labels, order, late rows, rejects and the error must agree.

Catches: whatever makes a result depend on arrival, and operators that mean something else than the plan.
Does not catch: what both sides take from the plan alike, such as a wrong plan for a text.
"""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.lowering import lower
from fsql.compiler.verify.graph import verify_graph
from fsql.runtime.model import run
from fsql.runtime.ports import DeadLetter
from fsql.tests.reference.lines import line
from fsql.tests.reference.oracle import evaluate_job
from fsql.tests.unit.model import plans as p
from fsql.tests.unit.model.plan_gallery import GALLERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

    Values = tuple[Value, ...]
    Split = list[Values | DeadLetter]

BROKEN = DeadLetter(row=0, line=-1, byte=-1, code=513, field="v", reason="not a number", excerpt="")
DOUBLES = (0.0, -0.0, 1.5, math.nan, math.inf, -1e308, 1e308, 2.5e-320, 0.1, -0.1, None)


def random_split(random: Random, row: Callable[[int], Values | DeadLetter]) -> Split:
    """Return up to 7 rows whose times mostly go on, sometimes far back."""
    time = random.randrange(5) * p.SECOND
    rows: Split = []
    for _ in range(random.randrange(8)):
        time += random.choice([0, 0, p.SECOND // 2, p.SECOND, 3 * p.SECOND])
        rows.append(row(time - random.choice([0, 0, 0, p.SECOND, 3 * p.SECOND, 9 * p.SECOND])))
    return rows


def random_inputs(random: Random) -> dict[int, list[Split]]:
    def key() -> str | None:
        return random.choice(["a", "b", "c", None])

    def number() -> int | None:
        return random.choice([-1, 0, 1, 2, 3, None])

    def event(time: int) -> Values | DeadLetter:
        if random.random() < 0.03:
            return BROKEN
        at = None if random.random() < 0.03 else time
        return (key(), number(), random.choice(DOUBLES), at)

    def at_rest(_time: int) -> Values:
        array = tuple(number() for _ in range(random.randrange(4)))
        return (key(), number(), array if random.random() < 0.9 else None)

    return {
        0: [random_split(random, event) for _ in range(random.randrange(1, 4))],
        1: [
            random_split(random, lambda time: (key(), number(), time))
            for _ in range(random.randrange(3))
        ],
        2: [random_split(random, at_rest) for _ in range(random.randrange(3))],
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", GALLERY)
def test_the_model_releases_what_the_plan_means(name: str, seed: int) -> None:
    random = Random(f"{name} {seed}")
    others = [GALLERY[random.choice(sorted(GALLERY))]] if random.random() < 0.2 else []
    job = p.job(GALLERY[name], *others)
    inputs = random_inputs(random)
    graph = lower(job)
    verify_graph(graph)
    workers, read_ahead = random.randrange(1, 4), random.choice([1, 4, 1000])
    result = run(graph, inputs, seed=seed, workers=workers, read_ahead=read_ahead)
    expected = evaluate_job(job, inputs)

    released = tuple(
        tuple((root, line(insert.sink, label or "+I", row)) for root, label, row in rows)
        for insert, rows in zip(job.inserts, result.sinks, strict=True)
    )
    assert released == expected.released
    error = None if result.error is None else (result.error.code, result.error.root)
    assert error == expected.error
    late = [
        [(tuple(root), repr(row), weight) for root, row, weight in rows] for rows in result.late
    ]
    assert late == [  # Rows by repr, because NaN is not equal to itself.
        [(row.root, repr(row.values), row.weight) for row in rows] for rows in expected.late
    ]
    assert [(root, dead_letter.code) for root, dead_letter in result.dead_letters] == [
        (rejected.root, rejected.code) for rejected in expected.dead_letters
    ]
