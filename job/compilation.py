"""Compilation of a script, up to the graph; `stages` lists the stages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.lowering import lower
from fsql.compiler.pipeline import apply_rules, compile_script
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import digest
from fsql.compiler.surroundings import Surroundings
from fsql.connectors.declared import DECLARED
from fsql.job.functions import loader
from fsql.job.inferred_columns import column_inference
from fsql.job.stages import verify_product

if TYPE_CHECKING:
    from fsql.compiler.binder.catalog import Catalog
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.graph import Graph
    from fsql.compiler.inspections import Inspection
    from fsql.compiler.logical import Job
    from fsql.compiler.planner.select import PlannedSelect
    from fsql.compiler.rules.driver import Firing
    from fsql.compiler.syntax import Script as ScriptSyntax
    from fsql.job.script import Script


@dataclass(frozen=True, slots=True)
class Compiled:
    """A script at every stage.

    `bound` is the job before the rewrite rules, `job` after them, `firings` are the applied rules;
    `source_spans` has the spans of the parts of `bound`, `catalog` the tables and views that can be named at
    the end.  `inspections` are the requests of SHOW, DESCRIBE and EXPLAIN, `selects` the bound SELECTs and
    what the planner made of them.
    """

    script: Script
    syntax: ScriptSyntax
    bound: Job
    job: Job
    graph: Graph
    firings: tuple[Firing, ...]
    warnings: tuple[Diagnostic, ...]
    source_spans: SourceSpans
    catalog: Catalog
    inspections: tuple[Inspection, ...] = ()
    selects: tuple[PlannedSelect, ...] = ()


def compile_job(script: Script, *, may_be_empty: bool = False) -> Compiled:
    """Return the script at every stage.

    With `may_be_empty`, a script of only SHOW, DESCRIBE or EXPLAIN has a job without INSERTs.

    Raises:
        FsqlError: for errors in the script; E314, if it has no job; E607, if it is from a compiled plan,
            and this version of fsql compiles it to another plan; E608, if a module has changed.
    """
    columns: dict[str, str] = {}
    result = compile_script(
        script.source,
        DECLARED,
        script.parameters,
        declarations="" if script.memory is None else script.memory.declarations,
        ordinals=script.ordinals,
        surroundings=Surroundings(
            loader(script.functions, script.modules, script.registered),
            column_inference(script, columns),
        ),
    )
    if not (result.logical.inserts or may_be_empty):
        message = "script has no INSERT and no SELECT: it runs nothing"
        span = result.syntax.statements[-1].span
        helps = ("print it with fsql run",)
        raise FsqlError([Diagnostic("E314", message, Label(span), helps=helps)], script.source)
    firings: list[Firing] = []
    job = apply_rules(result.logical, trace=firings)
    if script.plan_digest not in {None, digest(job)}:
        message = "this version of fsql compiles the script to another plan"
        raise FsqlError([Diagnostic("E607", message, helps=(CODES["E607"].fix,))])
    return Compiled(
        replace(script, columns=columns),
        result.syntax,
        result.logical,
        job,
        verify_product("graph", lower(job)),
        tuple(firings),
        result.warnings,
        result.source_spans,
        result.catalog,
        result.inspections,
        result.selects,
    )
