"""SET: settings of Flink, and what corresponds to them in fsql.

A setting that cannot change results is ignored with a warning. Others are refused, unless their value stands
for the behaviour of fsql.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = (
    "table.local-time-zone",
    "table.exec.state.ttl",
    "table.exec.source.idle-timeout",
)
"""The settings that this language has."""
_PLANNED: Final = "the planner chooses; see fsql explain --stage tick"
_SNAPSHOTS: Final = "use --state DIR and --snapshot-ms"
_DISPLAY: Final = "use --format"

_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "parallelism.default": "use --workers; results do not depend on it",
    "pipeline.name": "the name of a deployed job is given to fsql up",
    "pipeline.max-parallelism": "use --workers; results do not depend on it",
    "pipeline.object-reuse": _PLANNED,
    "pipeline.operator-chaining": _PLANNED,
    "pipeline.operator-chaining.enabled": _PLANNED,
    "pipeline.auto-watermark-interval": "the watermark advances at every row",
    "execution.attached": "fsql run waits for the job, fsql up does not",
    "execution.buffer-timeout": _PLANNED,
    "sql-client.execution.result-mode": _DISPLAY,
    "sql-client.execution.max-table-result.rows": _DISPLAY,
    "sql-client.verbose": "all errors are shown in full",
    "table.dml-sync": "all INSERTs of a script are one job",
    "table.plan.force-recompile": "use fsql compile",
    "table.exec.resource.default-parallelism": "use --workers; results do not depend on it",
    "table.exec.simplify-operator-name-enabled": "it concerns the display of operators only",
    "table.exec.sink.keyed-shuffle": "rows of a key are always in order",
    "table.exec.sink.upsert-materialize": "changes of a key are always in order",
    "table.generated-code.max-length": "no code is generated",
}
"""Settings that do not change results, with what to use instead."""

_PREFIXES_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "table.exec.mini-batch.": "all changes that one input row causes are released immediately",
    "table.optimizer.": _PLANNED,
    "table.exec.spill-": _PLANNED,
    "table.exec.async-": "there are no asynchronous functions",
    "execution.checkpointing.": _SNAPSHOTS,
    "execution.savepoint.": "use fsql snapshot",
    "execution.target": "fsql run runs on this machine",
    "state.": _SNAPSHOTS,
    "restart-strategy": "processes are restarted when they fail",
    "taskmanager.": "use --workers",
    "jobmanager.": "use --workers",
    "rest.": "fsql has no such server",
    "metrics.": "use fsql stats",
}
"""Prefixes of settings that do not change results, with what to use instead."""

_FIXED: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "execution.runtime-mode": (
        ("streaming", "automatic"),
        "results are changes; use EMIT FINAL, or a sink with 'changes' = 'upsert'",
    ),
    "table.sql-dialect": (("default",), "the language is that of docs/language.md"),
    "auto.offset.reset": (("earliest",), "write 'start' = 'latest' in WITH of each topic"),
    "table.exec.emit.allow-lateness": (
        ("0 ms", "0ms", "0 s", "0s"),
        "use a longer delay in WATERMARK",
    ),
    "table.exec.emit.early-fire.enabled": (("false",), "write EMIT CHANGES after the query"),
    "table.exec.emit.late-fire.enabled": (("false",), "use a longer delay in WATERMARK"),
    "table.exec.legacy-cast-behaviour": (
        ("disabled",),
        "use TRY_CAST for NULL instead of an error",
    ),
    "table.exec.sink.not-null-enforcer": (("error",), "filter NULLs with WHERE … IS NOT NULL"),
    "table.exec.sink.type-length-enforcer": (("ignore",), "cut texts with CAST(… AS VARCHAR(n))"),
    "table.exec.source.cdc-events-duplicate": (("false", "true"), ""),
    "table.exec.unbounded-over.version": (("1", "2"), ""),
}
"""Settings that change results: the values that stand for the behaviour of fsql, in lower case, and advice
for others."""


def with_remarks(written: syntax.SetOption) -> syntax.SetOption:
    """Return a setting with a warning if it has no effect, and a refusal if it would change results."""
    key, value = written.key.value.strip().lower(), written.value.value.strip().lower()
    if key in _OWN:
        return written
    remarks = _remarks(key, value, written)
    return replace(written, span=written.span, remarks=remarks)


def _remarks(key: str, value: str, written: syntax.SetOption) -> syntax.Remarks:
    advice = _WITHOUT_EFFECT.get(key)
    prefixes = (text for prefix, text in _PREFIXES_WITHOUT_EFFECT.items() if key.startswith(prefix))
    if advice is None and key not in _FIXED:
        advice = next(prefixes, None)
    if advice is not None:
        label = Label(written.key.span)
        message = f"setting '{key}' has no effect"
        return syntax.Remarks((Diagnostic("W202", message, label, helps=(advice,)),))
    values, advice = _FIXED.get(key, ((), ""))
    if not values:
        near = near_name(key, (*_WITHOUT_EFFECT, *_FIXED, *_OWN))
        help_ = (
            f"a setting with a similar name exists: '{near}'"
            if near
            else "options of a table are written in WITH, options of a run on the command line"
        )
        message = f"setting '{key}' does not exist"
        refused = Diagnostic("E224", message, Label(written.key.span), helps=(help_,))
        return syntax.Remarks(refused=refused)
    if value not in values:
        message = f"setting '{key}' cannot be '{written.value.value}'"
        label = Label(written.value.span, f"expected '{values[0]}'")
        return syntax.Remarks(refused=Diagnostic("E224", message, label, helps=(advice,)))
    return syntax.Remarks()
