"""Plans of scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import TickPlan


def plan_of(script: str, workers: int = 1) -> TickPlan:
    """Return the plan that is chosen without statistics."""
    return choose(compile_job(script_of_text(script, {})).graph, workers=workers)
