"""`fsql check`: errors, warnings and the state of scripts, without running them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.diagnostics.render import render_json
from fsql.compiler.explain.traits import key_names, operator_name, state_bound
from fsql.compiler.logical import operators
from fsql.compiler.records import dataclass
from fsql.job.compilation import compile_job
from fsql.job.functions import functions_of
from fsql.job.input_warnings import input_diagnostics, output_diagnostics, unkept_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.logical import Insert
    from fsql.compiler.text.source import SourceText
    from fsql.job.script import Script


@dataclass(frozen=True, slots=True)
class InsertFacts:
    """The changes that an INSERT writes, and the state that it needs.

    `state` has the stateful operators, each with the bound of its state.
    """

    table: str
    changes: str
    key: tuple[str, ...] | None
    state: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ScriptCheck:
    """The result of checking one script."""

    source: SourceText
    diagnostics: tuple[Diagnostic, ...]
    inserts: tuple[InsertFacts, ...]
    functions: tuple[str, ...] = ()
    """The Python functions that the script calls, each as `module:name`."""

    @property
    def valid(self) -> bool:
        """Return whether the script has no errors."""
        return all(each.severity == "warning" for each in self.diagnostics)


def check_script(script: Script) -> ScriptCheck:
    """Return the diagnostics of a script and the facts of its INSERT statements."""
    try:
        result = compile_job(script, may_be_empty=True)
    except FsqlError as error:
        return ScriptCheck(error.source or script.source, error.diagnostics, ())
    facts = tuple(_facts(insert) for insert in result.job.inserts)
    found = (
        *result.warnings,
        *input_diagnostics(result),
        *output_diagnostics(result),
        *unkept_rows(result),
    )
    return ScriptCheck(script.source, found, facts, functions_of(result.job))


def _facts(insert: Insert) -> InsertFacts:
    sink = insert.sink
    bounds = [(operator_name(each), state_bound(each)) for each in operators(insert.query)]
    return InsertFacts(
        sink.name,
        sink.changes.value,
        None if sink.key is None else key_names(sink.columns, sink.key),
        tuple((operator, bound) for operator, bound in bounds if bound != "none"),
    )


def check_text(check: ScriptCheck) -> str:
    """Return a few lines for each INSERT of a script; nothing for a script with errors."""
    if not check.valid:
        return ""
    count = len(check.inserts)
    lines = [f"{check.source.name}: {count_text(count)} INSERT{'' if count == 1 else 's'}"]
    for insert in check.inserts:
        key = "" if insert.key is None else f" by ({', '.join(insert.key)})"
        lines.append(f"  into {insert.table}: {insert.changes}{key}")
        lines += [f"    state of {operator}: {bound}" for operator, bound in insert.state]
        if not insert.state:
            lines.append("    no state")
    if check.functions:
        lines.append(f"  functions in Python: {', '.join(check.functions)}")
    return "\n".join(lines) + "\n"


def check_json(checks: Sequence[ScriptCheck]) -> str:
    """Return the results of all scripts as one JSON object."""
    files = [
        {
            "file": check.source.name,
            "ok": check.valid,
            "diagnostics": json.loads(render_json(check.diagnostics, check.source)),
            **({"functions": list(check.functions)} if check.functions else {}),
            "inserts": [
                {
                    "table": insert.table,
                    "changes": insert.changes,
                    "key": insert.key,
                    "state": [
                        {"operator": operator, "bound": bound} for operator, bound in insert.state
                    ],
                }
                for insert in check.inserts
            ],
        }
        for check in checks
    ]
    return json.dumps({"files": files}, ensure_ascii=False) + "\n"
