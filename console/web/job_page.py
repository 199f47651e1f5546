"""One job on its page: its plan, the ticks and events of its past, its processes, and rows not taken."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.secrets import without_secrets
from fsql.console.job_logs import event_of
from fsql.console.tick_records import tick_fields
from fsql.console.web.job_charts import results_of_job
from fsql.console.web.watch import processes_of
from fsql.job.compilation import compile_job
from fsql.job.explain_ticks import ticks_of_job
from fsql.job.file_uses import FileUses
from fsql.job.plan_file import script_of_plan
from fsql.job.sinks import late_operators
from fsql.job.ticks import has_coordination, read_ticks
from fsql.job.written import LATE_PATH, REJECTS_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.deployment.views import JobView
    from fsql.job.compilation import Compiled
    from fsql.job.script import Script

LOG_BYTES: Final = 256 << 10
LOG_LINES: Final = 400
SAMPLE_BYTES: Final = 64 << 10
SAMPLE_ROWS: Final = 40
LINE_CHARACTERS: Final = 2_000
TICKS: Final = 60
_PLANS_KEPT: Final = 16
_EVENTS: Final = frozenset({"started", "ended", "phase", "warning", "input", "waiting"})

Fields = dict[str, Any]


class JobPages:
    """Answers questions about jobs; plans are kept until they change."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, str, int], Fields] = {}
        self._compiled: dict[tuple[str, str], Compiled] = {}

    def plan(self, view: JobView) -> Fields:
        """Return the script and the tick plan of a job, with the reasons of the last tick and the next one.

        Raises:
            FsqlError: if the plan cannot be read.
        """
        state = view.directory.state
        records = read_ticks(state)[1] if has_coordination(state) else []
        newest = max((record.proposal.tick for record in records), default=0)
        key = (view.deployment.id, view.deployment.plan, newest)
        found = self._plans.get(key)
        if found is None:
            ticks = ticks_of_job(state, deployed=True)
            found = {
                "script": without_secrets(ticks.compiled.script.source.text),
                "plan": json.loads(ticks.json({})),
                "text": ticks.text(),
            }
            while len(self._plans) >= _PLANS_KEPT:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = found
        return found

    def past(self, view: JobView) -> Fields:
        """Return the ticks of a job, the newest first, and the events of its log, the oldest first."""
        return {**_ticks(view.directory.state), "events": list(_events(view.directory.log))}

    def log(self, view: JobView) -> Fields:
        """Return the end of the log of a job."""
        lines = last_lines(view.directory.log, LOG_BYTES, LOG_LINES)
        return {
            "lines": [
                event_of(line) or {"ts": None, "event": "output", "line": line[:LINE_CHARACTERS]}
                for line in lines
            ]
        }

    def processes(self, view: JobView) -> Fields:
        """Return the processes of a job."""
        return {"processes": msgspec.to_builtins(processes_of(view))}

    def rows_not_taken(self, view: JobView) -> Fields:
        """Return where late and rejected rows of a job are written, with the last of them.

        Raises:
            FsqlError: if its script cannot be read.
        """
        compiled = self._script(view)
        files = FileUses(compiled)
        found = []
        names = [
            *(
                (insert.sink.name, LATE_PATH, "late")
                for insert in compiled.job.inserts
                if late_operators(compiled.job, insert)
            ),
            *((table.name, REJECTS_PATH, "rejected") for table in compiled.job.tables),
        ]
        for table, option, kind in dict.fromkeys(names):
            uses = files.of(table, option)
            found.append(
                {
                    "table": table,
                    "kind": kind,
                    "option": option,
                    "path": str(uses[0].path) if uses else None,
                    "rows": [
                        line[:LINE_CHARACTERS]
                        for use in uses[:1]
                        for line in last_lines(use.path, SAMPLE_BYTES, SAMPLE_ROWS)
                    ],
                }
            )
        return {"tables": found}

    def results(self, view: JobView) -> Fields:
        """Return the results of a job, and from which of them charts are drawn.

        Raises:
            FsqlError: if its script cannot be read.
        """
        return {"results": results_of_job(self._script(view))}

    def _script(self, view: JobView) -> Compiled:
        key = (view.deployment.id, view.deployment.plan)
        found = self._compiled.get(key)
        if found is None:
            found = compile_job(_script_of(view))
            while len(self._compiled) >= _PLANS_KEPT:
                del self._compiled[next(iter(self._compiled))]
            self._compiled[key] = found
        return found


def _script_of(view: JobView) -> Script:
    path = view.directory.plan_of(view.deployment)
    return script_of_plan(str(path), path.read_bytes(), {})


def last_lines(path: Path, bytes_max: int, lines_max: int) -> list[str]:
    """Return the last complete lines of a file; none if it cannot be read or is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(descriptor, "rb") as file:
        try:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - bytes_max))
            content = file.read(bytes_max)
        except OSError:
            return []
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.decode(errors="replace").split("\n")[:-1]
    return lines[size > bytes_max :][-lines_max:]


def _ticks(state: Path) -> Fields:
    try:
        if not has_coordination(state):
            return {"ticks": [], "problem": None}
        proposal, records = read_ticks(state)
    except FsqlError as error:
        return {"ticks": [], "problem": error.diagnostics[0].message}
    ticks = [*(() if proposal is None else (proposal,)), *records][:TICKS]
    shown = (
        "tick",
        "state",
        "reason",
        "proposed_at",
        "seconds",
        "moved_bins",
        "refused",
        "changes",
    )
    return {
        "ticks": [{name: tick_fields(tick)[name] for name in shown} for tick in ticks],
        "problem": None,
    }


def _events(log: Path) -> Iterator[Fields]:
    """Yield what changed the state of a job."""
    for line in last_lines(log, LOG_BYTES, LOG_LINES):
        event = event_of(line)
        if event is not None and event["event"] in _EVENTS:
            yield event
