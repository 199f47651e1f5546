"""Executes SHOW, DESCRIBE and EXPLAIN; the results are lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.inspections import Listing
from fsql.compiler.lowering import lower
from fsql.compiler.pipeline import apply_rules
from fsql.job.explain_stage import explain_stage
from fsql.job.stages import verify_product

if TYPE_CHECKING:
    from fsql.compiler.inspections import Explanation
    from fsql.compiler.rules.driver import Firing
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions


def listings(compiled: Compiled, options: RunOptions) -> list[Listing]:
    """Return the lists that a script requests, in its order; that of EXPLAIN has one text."""
    return [
        each if isinstance(each, Listing) else _plan(compiled, each, options)
        for each in compiled.inspections
    ]


def _plan(compiled: Compiled, explanation: Explanation, options: RunOptions) -> Listing:
    firings: list[Firing] = []
    job = apply_rules(explanation.job, trace=firings)
    alone = replace(
        compiled,
        bound=explanation.job,
        job=job,
        graph=verify_product("graph", lower(job)),
        firings=tuple(firings),
    )
    return Listing(("plan",), ((explain_stage(alone, explanation.stage, "text", options),),))
