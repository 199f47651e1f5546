"""Adds the statements of a script to the script of a job.

A declaration that the job has, of the same name and with the same meaning, is taken once, and so is an equal
INSERT.  What remains comes after the statements of the job.  A name means one thing in a script, so another
meaning of a name of the job is an error, and so is another INSERT into a table that the job writes.  In the
end both scripts are compared with the result: each of their queries computes what it did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.databases import DATABASE, without_databases
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.logical import operators
from fsql.compiler.parser import parse_script
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import work_digest
from fsql.compiler.text.source import SourceText
from fsql.job.compilation import compile_job
from fsql.job.functions import module_digest, modules_of
from fsql.job.relocated_script import end_statement, relocate
from fsql.job.script import Script
from fsql.job.script_meaning import (
    columns_inferred_before,
    declared_by,
    differences,
    lifetime_after,
    same_function,
    settings_of_script,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Plan, Table, TimeKind
    from fsql.compiler.text.source import Span
    from fsql.job.compilation import Compiled
    from fsql.job.relocated_script import Part
    from fsql.job.script_meaning import Lifetime

_ERRORS_MAX: Final = 20
_OWN_JOB: Final = "deploy the script as a job of its own: without --into"


@dataclass(frozen=True, slots=True)
class Addition:
    """The script of a job with the statements of another one; `compiled` is None if the job has them all.

    `shared` and `added` name the declarations and INSERTs of the other script, in its order.
    """

    compiled: Compiled | None
    shared: tuple[str, ...]
    added: tuple[str, ...]


def add_script(job: Compiled, added: Compiled, name: str) -> Addition:
    """Return the script of the job `name` with the statements of another script.

    Raises:
        FsqlError: E640, if a name would have two meanings, or the scripts have different settings; others, if
            the statements are not one script.
    """
    moved = relocate(added.script, job.script)
    own = _with_columns_of(job, compile_job(moved.script))
    errors = [*_differing_settings(job, own, moved.parts, name)]
    adding = _Adding(job, own, name)
    for part in moved.parts:
        adding.take(part)
    errors += adding.errors
    if errors:
        raise FsqlError(errors[:_ERRORS_MAX], moved.source)
    if not adding.adds_rows:
        _check_queries(job, own, name)
        return Addition(None, tuple(adding.shared), ())
    folders = tuple(dict.fromkeys((*job.script.functions, *own.script.functions)))
    _check_modules(job, own, folders, name)
    heading = f"-- of {_one_line(added.script.source.name)}"
    script = Script(
        SourceText(f"script of job {name}", _joined(job.script, heading, adding.texts)),
        {**job.script.parameters, **own.script.parameters},
        job.script.base_directory,
        functions=folders,
        columns={**own.script.columns, **job.script.columns},
    )
    compiled = compile_job(script)
    for each in (job, own):
        _check_queries(compiled, each, name)
    return Addition(compiled, tuple(adding.shared), tuple(adding.added))


def _with_columns_of(job: Compiled, own: Compiled) -> Compiled:
    """Return a script whose inferred columns are those of the job, in tables that both have."""
    columns = {**own.script.columns, **columns_inferred_before(job, own)}
    if columns == own.script.columns:
        return own
    return compile_job(replace(own.script, columns=columns))


class _Adding:
    """The statements of a script that a job does not have, as texts in order."""

    def __init__(self, job: Compiled, own: Compiled, name: str) -> None:
        """Take the job, the script as a part of it, and the name of the job."""
        self._job = job
        self._own = own
        self._name = name
        self._known = declared_by(without_databases(_syntax(job.script)).statements)
        self._sinks = {insert.sink.name for insert in job.bound.inserts}
        self._wanted: Lifetime = None
        self._setting = ""
        self._current = self._known.lifetime
        self.errors: list[Diagnostic] = []
        self.shared: list[str] = []
        self.added: list[str] = []
        self.texts = [] if self._known.database == DATABASE else [f"USE {DATABASE}"]
        self.adds_rows = False
        self._refused: set[str] = set()

    def take(self, part: Part) -> None:
        """Take the next statement."""
        match part.statement:
            case syntax.CreateTable() | syntax.CreateView():
                self._take_relation(part.statement, part)
            case syntax.CreateFunction():
                self._take_function(part.statement, part)
            case syntax.Insert():
                self._take_insert(part.statement, part)
            case syntax.SetOption() | syntax.ResetOption():
                wanted = lifetime_after(part.statement, self._wanted)
                if wanted != self._wanted:
                    self._wanted, self._setting = wanted, part.text
            case syntax.CreateDatabase(name=name):
                if name.parts[-1].name.lower() not in self._known.databases:
                    self.texts.append(part.text)
            case syntax.Use(catalog=False):
                self.texts.append(part.text)
            case _:
                pass

    def _take_relation(self, statement: syntax.CreateTable | syntax.CreateView, part: Part) -> None:
        written = statement.name.parts[-1]
        is_view = isinstance(statement, syntax.CreateView)
        what = f"{'view' if is_view else 'table'} {written.name}"
        query = None if isinstance(statement, syntax.CreateView) else statement.query
        known, own = self._job.catalog.find_here(written), self._own.catalog.find_here(written)
        if known is None or own is None:
            self._add(part, what, writes=query is not None)
            return
        differing = differences(known, own, self._job.script.base_directory)
        rows = None if query is None else (self._wanted, query)
        if self._known.results.get(known.name) != rows:
            differing = (*differing, "the query of its rows")
        self._take_known(part, what, differing, known.span)

    def _take_function(self, statement: syntax.CreateFunction, part: Part) -> None:
        written = statement.name.parts[-1]
        known = self._known.functions.get(written.name.upper())
        what = f"{'program' if statement.program else 'function'} {written.name}"
        if known is None:
            self._add(part, what)
        else:
            differing = () if same_function(known, statement) else ("its declaration",)
            self._take_known(part, what, differing, known.span)

    def _take_known(self, part: Part, what: str, differing: Sequence[str], declared: Span) -> None:
        """Take what the job declares once, unless it has another meaning."""
        if not differing:
            self.shared.append(what)
            return
        kind, _, name = what.partition(" ")
        self._refused.add(name.lower())
        line, _ = self._job.script.source.line_column(declared.start)
        self.errors.append(
            Diagnostic(
                "E640",
                f'{kind} "{name}" is another one in job {self._name}',
                Label(part.span, f"differs in {', '.join(differing)}"),
                notes=(
                    f"the job declares it in line {line} of its script: fsql script {self._name}",
                ),
                helps=("give it another name, or declare it as the job does", _OWN_JOB),
            )
        )

    def _take_insert(self, statement: syntax.Insert, part: Part) -> None:
        written = statement.table.parts[-1]
        what = f"INSERT INTO {written.name}"
        known = self._job.catalog.find_here(written)
        if written.name.lower() in self._refused:
            return
        if known is not None and (self._wanted, statement) in self._known.inserts:
            self._known.inserts.remove((self._wanted, statement))
            self.shared.append(what)
        elif known is None or known.name not in self._sinks:
            self._add(part, what, writes=True)
        else:
            self.errors.append(
                Diagnostic(
                    "E640",
                    f'job {self._name} writes table "{known.name}" already, with another query',
                    Label(part.span),
                    helps=(
                        "write to a table of another name, with its own file or topic",
                        f"or edit the script, if both are to write it: fsql script {self._name}",
                    ),
                )
            )

    def _add(self, part: Part, what: str, *, writes: bool = False) -> None:
        """Add a statement, after a SET or RESET if another time to live of state is in effect."""
        if self._wanted != self._current:
            self.texts.append(
                "RESET 'table.exec.state.ttl'" if self._wanted is None else self._setting
            )
            self._current = self._wanted
        self.texts.append(part.text)
        self.added.append(what)
        self.adds_rows = self.adds_rows or writes


def _differing_settings(
    job: Compiled, own: Compiled, parts: Sequence[Part], name: str
) -> Iterable[Diagnostic]:
    """Yield an error for each setting of whole scripts of which the scripts have different values."""
    written = {
        part.statement.key.value.strip().lower(): Label(part.span)
        for part in parts
        if isinstance(part.statement, syntax.SetOption)
    }
    of_job = settings_of_script(_syntax(job.script))
    for setting, value in settings_of_script(_syntax(own.script)).items():
        if value != of_job[setting]:
            message = f"setting '{setting}' is '{value}', and '{of_job[setting]}' in job {name}"
            helps = ("set it as the job does, if that is what the queries need", _OWN_JOB)
            note = "a script has one value of this setting"
            yield Diagnostic("E640", message, written.get(setting), notes=(note,), helps=helps)


def _check_modules(job: Compiled, own: Compiled, folders: Sequence[Path], name: str) -> None:
    """Check that each module with functions is the same one in the folders of both scripts.

    Raises:
        FsqlError: E640.
    """
    of_job = modules_of(job.job)
    for module, digest in modules_of(own.job).items():
        if {digest, of_job.get(module, digest), module_digest(module, folders)} != {digest}:
            message = f'module "{module}" of functions is another one in job {name}'
            notes = (f"the job has it from {' or '.join(map(str, job.script.functions))}",)
            helps = ("give one of the two modules another name", _OWN_JOB)
            raise FsqlError([Diagnostic("E640", message, notes=notes, helps=helps)])


def _check_queries(together: Compiled, alone: Compiled, name: str) -> None:
    """Check that the queries of one of the scripts compute what they did.

    The times of rows are decided for all tables and queries of a script together.

    Raises:
        FsqlError: E640.
    """
    found = {
        _computed(plan) for insert in together.bound.inserts for plan in operators(insert.query)
    }
    for insert in alone.bound.inserts:
        if _computed(insert.query) not in found:
            times = {each.name.lower(): _time(each) for each in alone.bound.tables}
            changed = [
                f'table "{each.name}"'
                for each in together.bound.tables
                if times.get(each.name.lower(), _time(each)) != _time(each)
            ]
            message = (
                f'one job of {name} and the script would change the query of "{insert.sink.name}"'
            )
            note = (
                f"the time of {' and '.join(changed)} depends on all tables and queries of the job"
            )
            notes = (note,) if changed else ()
            raise FsqlError([Diagnostic("E640", message, notes=notes, helps=(_OWN_JOB,))])


def _computed(plan: Plan) -> str:
    """Return a digest of what a query computes from the tables of a script."""
    return work_digest(plan, lambda table: table.name.lower())


def _time(table: Table) -> tuple[TimeKind, bool]:
    return table.time, table.row_time


def _joined(job: Script, heading: str, texts: Sequence[str]) -> str:
    """Return the text of the job's script with statements after it."""
    before = end_statement(job.source.text, _syntax(job).statements[-1].span)
    added = "".join(f"{text};\n" for text in texts)
    return f"{before.rstrip()}\n\n{heading}\n{added}"


def _syntax(script: Script) -> syntax.Script:
    return parse_script(script.source, script.parameters)


def _one_line(text: str) -> str:
    return " ".join(text.split())
