"""The stages of compilation, one function each, in order.

    text ─▶ syntax ─▶ bound SELECTs ─▶ logical plan ─▶ logical plan, as the rules leave it

Each stage is plain data; a stage that refuses its input raises an `FsqlError` with all errors found.  The
rules raise no errors.  With `FSQL_VERIFY=1` in the environment, the plan is verified after each pass.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.script import NO_ORDINALS, bind
from fsql.compiler.databases import without_databases
from fsql.compiler.declared_types import with_declared_types
from fsql.compiler.dialects.standard_forms import with_standard_forms, with_standard_windows
from fsql.compiler.dialects.standard_options import with_standard_options
from fsql.compiler.hinted_options import declare_hinted
from fsql.compiler.inferred_columns import declare_files
from fsql.compiler.parser import parse_script
from fsql.compiler.records import dataclass
from fsql.compiler.rules import PASSES
from fsql.compiler.rules.driver import run_passes
from fsql.compiler.rules.prune_columns.demand import columns_read
from fsql.compiler.surroundings import NO_SURROUNDINGS
from fsql.compiler.text.deep_stack import deep_stack
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.binder.catalog import Catalog
    from fsql.compiler.binder.script import BoundScript
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.connectors import Declarations
    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.inspections import Inspection
    from fsql.compiler.logical import Job
    from fsql.compiler.planner.select import PlannedSelect
    from fsql.compiler.rules.driver import Firing
    from fsql.compiler.surroundings import Surroundings
    from fsql.compiler.syntax import Script


_NO_PARAMETERS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class CompiledScript:
    """A script at every stage, and the warnings about it (diagnostics whose code begins with W).

    `source_spans` has the spans of the parts of the plan, `inspections` are what SHOW, DESCRIBE and EXPLAIN
    ask for.  `catalog` has the tables and views that can be named at the end of the script, `selects` the
    SELECTs as they are bound.
    """

    syntax: Script
    logical: Job
    inspections: tuple[Inspection, ...]
    warnings: tuple[Diagnostic, ...]
    source_spans: SourceSpans
    catalog: Catalog
    selects: tuple[PlannedSelect, ...] = ()


def compile_script(
    source: SourceText,
    declared: Declarations,
    parameters: Mapping[str, str] = _NO_PARAMETERS,
    *,
    declarations: str = "",
    ordinals: Mapping[str, int] = NO_ORDINALS,
    surroundings: Surroundings = NO_SURROUNDINGS,
) -> CompiledScript:
    """Return the logical plan of a script.

    `declared` has the available connectors and formats, `parameters` the values of `${name}`.
    `declarations` are CREATE TABLE statements that come before those of the script.  Their text is
    after it, so that its lines keep their numbers in messages.  `ordinals` are those that tables of the job
    had before.  `surroundings` are asked for what is not in the text.

    Raises:
        FsqlError: E1xx for the form of the text, the first that is wrong; E2xx to E4xx for its meaning,
            all that were found, up to 20.
    """
    script = parse_script(source, parameters)
    if declarations:
        whole = parse_script(
            SourceText(source.name, f"{source.text}\n;\n{declarations}"), parameters
        )
        own = len(script.statements)
        script = replace(whole, statements=(*whole.statements[own:], *whole.statements[:own]))
    with deep_stack():
        script = with_standard_forms(script)
        script = with_standard_windows(without_databases(with_declared_types(script)))
        script = declare_files(declare_hinted(script, declared), declared)
        script = with_standard_options(script)
    bound = bind(script, declared, ordinals, surroundings)
    return CompiledScript(
        script,
        bound.job,
        bound.inspections,
        (*_of_used_columns(bound), *bound.warnings),
        bound.source_spans,
        bound.catalog,
        bound.selects,
    )


def _of_used_columns(bound: BoundScript) -> Iterator[Diagnostic]:
    """Yield the warnings about columns that the job uses."""
    used = columns_read(bound.job) if bound.of_columns else {}
    for table, warning, notes in bound.of_columns:
        of_table = used.get(table, frozenset())
        texts = tuple(note.text for note in notes if note.column in of_table)
        if texts:
            yield replace(warning, notes=texts)


def apply_rules(
    job: Job,
    *,
    disabled: frozenset[str] = frozenset(),
    trace: list[Firing] | None = None,
) -> Job:
    """Return a bound job as `PASSES` leave it: it releases the same bytes, with less work.

    `disabled` names rules and passes to leave out; `trace` is extended by what each rule did.

    Raises:
        ValueError: `disabled` has a name that is neither.
    """
    verify = verify_logical if os.environ.get("FSQL_VERIFY") == "1" else None
    return run_passes(job, PASSES, disabled=disabled, trace=trace, verify=verify)
