"""`fsql explain`: a script at one stage of compilation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.explain import stages as explain
from fsql.compiler.explain.syntax import syntax_json, syntax_text
from fsql.compiler.reasons import Reason
from fsql.job.file_uses import FileUse, FileUses
from fsql.job.planning import choose_plan
from fsql.job.sources import open_splits
from fsql.optimizer.first_plan import choices_left_to_ticks, choose_first
from fsql.optimizer.owner_choice import OWNERS
from fsql.optimizer.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions
    from fsql.job.sources import Splits

    Printer = Callable[[Compiled, RunOptions], str]

_SUFFIXES: Final = {
    ".txt": "text",
    ".json": "json",
    ".mmd": "mermaid",
    ".svg": "svg",
    ".html": "html",
}

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("syntax", "text"): lambda result, _: syntax_text(result.syntax),
    ("syntax", "json"): lambda result, _: syntax_json(result.syntax),
    ("bound", "text"): lambda result, _: explain.bound_text(result.selects, result.syntax.source),
    ("logical", "text"): lambda result, _: explain.logical_text(
        result.job, scan_lines=scan_lines_of(result)
    ),
    ("logical", "json"): lambda result, _: explain.logical_json(
        result.job, scan_lines=scan_lines_of(result)
    ),
    ("logical", "svg"): lambda result, _: explain.logical_svg(
        result.job, scan_lines=scan_lines_of(result)
    ),
    ("logical", "html"): lambda result, _: explain.logical_html(
        result.job, scan_lines=scan_lines_of(result)
    ),
    ("graph", "text"): lambda result, _: explain.graph_text(
        result.graph, scan_lines=scan_lines_of(result)
    ),
    ("graph", "json"): lambda result, _: explain.graph_json(
        result.graph, scan_lines=scan_lines_of(result)
    ),
    ("graph", "mermaid"): lambda result, _: explain.graph_mermaid(
        result.graph, scan_lines=scan_lines_of(result)
    ),
    ("graph", "svg"): lambda result, _: explain.graph_svg(
        result.graph, scan_lines=scan_lines_of(result)
    ),
    ("tick", "text"): lambda result, options: explain.tick_text(
        _tick_plan(result, options),
        scan_lines=scan_lines_of(result),
    ),
    ("tick", "json"): lambda result, options: explain.tick_json(
        _tick_plan(result, options), scan_lines=scan_lines_of(result)
    ),
}
"""The formats of each stage."""


class FormatError(Exception):
    """There is no such format, or a stage is not available in it; the message lists those there are."""


def check_output(result: Compiled, output: str) -> None:
    """Check that the output file is neither the script nor a file of one of its tables.

    Raises:
        FsqlError: E532, if it is.
    """
    use = FileUse("", "output", Path(output).resolve(), "-")
    FileUses(result).check_apart(use)


def format_of(output: str) -> str:
    """Return the format by the suffix of an output file; text without a suffix.

    Raises:
        FormatError: if no format has the suffix.
    """
    suffix = Path(output).suffix
    form = _SUFFIXES.get(suffix) if suffix else "text"
    if form is None:
        known = ", ".join(_SUFFIXES)
        raise FormatError(
            f'no format has the suffix {suffix} of "{output}": use {known}, or --format'
        )
    return form


def explain_stage(
    result: Compiled, stage: str, form: str, options: RunOptions, *, trace: bool = False
) -> str:
    """Return a script at a stage; with `trace`, preceded by the changes of each rewrite rule.

    At the stage `bound`, they are those of each pass of the planner.

    Raises:
        FormatError: if the stage has no such format, or the format cannot have a trace.
    """
    printer = PRINTERS.get((stage, form))
    if printer is None:
        forms = " and ".join(known for of, known in PRINTERS if of == stage)
        raise FormatError(f"stage {stage} is available as {forms}, not as {form}")
    if trace and form != "text":
        raise FormatError(f"--trace is available with text only, not with {form}")
    text = printer(result, options)
    text = text if text.endswith("\n") else f"{text}\n"
    if not trace:
        return text
    if stage == "bound":
        return f"{explain.passes_text(result.selects, result.syntax.source)}\n{text}"
    return f"{explain.trace_text(result.firings)}\n{text}"


def scan_lines_of(result: Compiled) -> ScanLines:
    """Return the function that has the lines of a script on which a table is read."""
    return lambda scan: result.source_spans.lines_of(scan, result.syntax.source)


def _tick_plan(result: Compiled, options: RunOptions) -> TickPlan:
    """Return the tick plan; its reasons also list the missing estimates."""
    splits: Splits = {}
    missing: tuple[Reason, ...] = ()
    try:
        splits = open_splits(result)
    except FsqlError:
        text = "no estimate, the input cannot be opened; one of each table is assumed"
        missing = (Reason("splits", text),)
    plan = choose_plan(result, splits, options)
    if options.profile is None or options.profile.profile is None:
        unknown = choose_first(plan, Profile()).reasons
        missing += tuple(
            each for each in unknown if each.subject != OWNERS
        )  # that is listed already
    missing += choices_left_to_ticks(plan, chooses_policies=options.policy is None)
    return replace(plan, reasons=(*plan.reasons, *missing))
