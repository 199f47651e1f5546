"""The logical plan with the rows that each operator has returned in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.explain import stages as explain
from fsql.compiler.lowering import lower_operators
from fsql.job.explain_stage import scan_lines_of
from fsql.optimizer.fuse import outputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.logical import Job, Plan
    from fsql.job.compilation import Compiled

    Printer = Callable[[Job, ScanLines, Mapping[Plan, int]], str]

PRINTERS: Final[Mapping[str, Printer]] = {
    ".html": lambda job, lines, rows: explain.logical_html(job, scan_lines=lines, rows=rows),
    ".svg": lambda job, lines, rows: explain.logical_svg(job, scan_lines=lines, rows=rows),
    ".txt": lambda job, lines, rows: explain.logical_text(job, scan_lines=lines, rows=rows),
}
"""The formats, by the suffix of the file."""


def explain_run(result: Compiled, rows_passed: Mapping[tuple[int, int], int], suffix: str) -> str:
    """Return the logical plan, with the number of rows or changes that each operator has returned.

    Args:
        result: the job.
        rows_passed: the number of rows that each step of the plan has made, by stage and step.
        suffix: the suffix of the file, one of `PRINTERS`.
    """
    lowered = lower_operators(result.job)
    outputs = outputs_of(lowered.graph)
    rows = {
        plan: sum(rows_passed[output] for output in outputs[vertex])
        for plan, vertex in lowered.vertices.items()
    }
    return PRINTERS[suffix](result.job, scan_lines_of(result), rows)
