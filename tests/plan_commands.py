"""The commands of case files that show plans: what rules do, and each stage as EXPLAIN prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.explain import stages as printers
from fsql.compiler.lowering import lower
from fsql.compiler.pipeline import apply_rules, compile_script
from fsql.compiler.rules import PASSES
from fsql.compiler.rules.driver import rewrite
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.optimizer.choose import choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.logical import Scan
    from fsql.compiler.pipeline import CompiledScript
    from fsql.compiler.rules.driver import Firing


def rule(text: str, *, name: str) -> str:
    """Return the plan as bound, and as the rules `name`, separated by commas, leave it one by one."""
    before = after = _compiled(text).logical
    rules = {each.name: each for one in PASSES for each in one.rules}
    for each in name.split(","):
        after = rewrite(after, [rules[each]])
    verify_logical(after)
    shown = printers.logical_text(before, details=False)
    if after is before:
        return f"{shown}=> unchanged\n"
    return f"{shown}=>\n{printers.logical_text(after, details=False)}"


def plan(text: str, *, passes: str) -> str:
    """Return the last SELECT as it comes to one of the passes, separated by commas, and leaves the last."""
    select = _compiled(text).selects[-1]
    names = passes.split(",")
    states = [select.bound, *(after for _, after in select.steps)]
    done = [name for name, _ in select.steps]
    first, last = done.index(names[0]), done.index(names[-1])
    assert done[first : last + 1] == names, f"the passes that change it are {done}"
    before, after = states[first], states[last + 1]
    shown = printers.select_text(after, given=before.rows)
    return f"{printers.select_text(before)}=>\n{shown}"


def optimize(text: str, *, without: str = "") -> str:
    """Return the plan after all passes, but for the rules `without`, separated by commas."""
    disabled = frozenset(without.split(",")) - {""}
    return printers.logical_text(
        apply_rules(_compiled(text).logical, disabled=disabled), details=False
    )


def trace(text: str) -> str:
    """Return what each rule did."""
    firings: list[Firing] = []
    apply_rules(_compiled(text).logical, trace=firings)
    return printers.trace_text(firings)


def explain(
    text: str, *, stage: str = "bound", form: str = "text", details: str = "yes", workers: str = "1"
) -> str:
    """Return the script at a stage: bound, logical, graph or tick, in one of its formats."""
    compiled = _compiled(text)
    bound = compiled.logical
    if stage == "bound":
        return printers.logical_text(bound)
    job, show = apply_rules(bound), details == "yes"
    graph = lower(job)
    plan = choose(graph, workers=int(workers))

    def scan_lines(scan: Scan) -> tuple[int, ...]:
        return compiled.source_spans.lines_of(scan, compiled.syntax.source)

    print_stage: dict[tuple[str, str], Callable[[], str]] = {
        ("logical", "text"): lambda: printers.logical_text(job, details=show),
        ("logical", "json"): lambda: printers.logical_json(job),
        ("logical", "svg"): lambda: printers.logical_svg(job, scan_lines=scan_lines),
        ("logical", "html"): lambda: printers.logical_html(job, scan_lines=scan_lines),
        ("graph", "text"): lambda: printers.graph_text(graph, details=show, scan_lines=scan_lines),
        ("graph", "json"): lambda: printers.graph_json(graph, scan_lines=scan_lines),
        ("graph", "mermaid"): lambda: printers.graph_mermaid(graph, scan_lines=scan_lines),
        ("graph", "svg"): lambda: printers.graph_svg(graph, scan_lines=scan_lines),
        ("tick", "text"): lambda: printers.tick_text(
            plan,
            details=show,
            scan_lines=scan_lines,
        ),
        ("tick", "json"): lambda: printers.tick_json(plan, scan_lines=scan_lines),
    }
    return print_stage[stage, form]()


def _compiled(text: str) -> CompiledScript:
    compiled = compile_script(SourceText("case.sql", text), DECLARED)
    verify_logical(compiled.logical)
    return compiled
