"""A script as a part of the script of a job: its statements with the same meaning in another text.

What a statement means depends on more than its text.  Relative paths start from the directory of the script,
and `${name}` has the value that was given with it.  So paths become absolute if the directories differ, and
parameters get other names if the job has other values for them.  Statements that only show or drop something
have no effect on rows and are left out.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.databases import without_databases
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.parser import parse_script
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.rewrite import records
from fsql.compiler.text.parameters import expand, parameter_uses
from fsql.compiler.text.source import SourceText, Span
from fsql.connectors import paths
from fsql.job.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PATH_OPTIONS: Final = ("path", "rejects_path", "late_path", "key", "properties")
"""The options of tables that name files: the same ones with every connector, which hints do not name."""
_SEPARATOR: Final = re.compile(r"(?:(?:\s|--[^\r\n]*+|/\*(?:(?!\*/).)*+\*/)*+;)+", re.DOTALL)
"""What is between two statements, up to the last `;`."""


@dataclass(frozen=True, slots=True)
class Part:
    """A statement, its text in the job's script, and the span of its name where it was written."""

    statement: syntax.Statement
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class RelocatedScript:
    """A script whose paths start from the directory of the job; statement sets are divided into INSERTs.

    `source` is the text to which the spans of the parts refer.
    """

    script: Script
    parts: tuple[Part, ...]
    source: SourceText


@dataclass(frozen=True, slots=True)
class _Edit:
    """A span of the text, and what takes its place."""

    span: Span
    text: str


def relocate(added: Script, job: Script) -> RelocatedScript:
    """Return a script as a part of that of a job.

    Raises:
        FsqlError: E640, if it drops a table and declares it again.
    """
    script = _with_whole_statements(added)
    statements = parse_script(script.source, script.parameters).statements
    _check_dropped(statements, script.source)
    written = [(each, span) for each, span in _statements(statements, script.source) if _acts(each)]
    renamed_files = _file_names(statements, script, job)
    new_names = _parameter_names(script, job.parameters)
    edits = [
        *_path_edits(statements, script, job),
        *_file_edits(statements, renamed_files, script.source),
    ]
    edits += [
        _Edit(span, f"${{{new_names[name]}}}")
        for name, span in parameter_uses(script.source)
        if new_names[name] != name and not any(_covers(each.span, span) for each in edits)
    ]
    texts = [_edited(script.source, span, edits).strip() for _, span in written]
    text = "".join(f"{each};\n" for each in texts)
    parameters = {new: script.parameters[name] for name, new in new_names.items()}
    columns = {renamed_files.get(name, name): each for name, each in script.columns.items()}
    moved = Script(
        SourceText(script.source.name, text),
        parameters,
        job.base_directory,
        functions=script.functions,
        modules=script.modules,
        columns=columns,
    )
    parsed = without_databases(parse_script(moved.source, parameters)).statements
    parts = tuple(
        Part(statement, text, _name_span(origin))
        for statement, text, (origin, _) in zip(parsed, texts, written, strict=True)
    )
    return RelocatedScript(moved, parts, script.source)


def _with_whole_statements(script: Script) -> Script:
    """Return the script; with the values of its parameters in its text if one has several statements."""
    statements = parse_script(script.source, script.parameters).statements
    if all(one.span.end <= next_.span.start for one, next_ in itertools.pairwise(statements)):
        return script
    text = expand(script.source, script.parameters).text
    return replace(script, source=SourceText(script.source.name, text), parameters={})


def _statements(
    statements: Sequence[syntax.Statement], source: SourceText
) -> Iterator[tuple[syntax.Statement, Span]]:
    """Yield each statement, and its span with the comments before it; of a statement set, its INSERTs."""
    end = 0
    for statement in statements:
        if isinstance(statement, syntax.StatementSet):
            yield from ((each, each.span) for each in statement.inserts)
        else:
            yield statement, Span(end, statement.span.end)
        separator = _SEPARATOR.match(source.text, statement.span.end)
        end = statement.span.end if separator is None else separator.end()


def _name_span(statement: syntax.Statement) -> Span:
    match statement:
        case syntax.CreateTable() | syntax.CreateView() | syntax.CreateFunction():
            return statement.name.span
        case syntax.Insert():
            return statement.table.span
        case _:
            return statement.span


def _acts(statement: syntax.Statement) -> bool:
    """Return whether a statement has an effect on rows, or on the meaning of names."""
    return not isinstance(
        statement,
        syntax.Drop
        | syntax.DropDatabase
        | syntax.Show
        | syntax.ShowCreate
        | syntax.Describe
        | syntax.Explain,
    )


def _check_dropped(statements: Sequence[syntax.Statement], source: SourceText) -> None:
    """Check that names mean the same in the whole script, so that DROP can be left out.

    Raises:
        FsqlError: E640.
    """
    declared: set[str] = set()
    dropped: set[str] = set()
    for statement in statements:
        if isinstance(statement, syntax.Drop):
            name = statement.name.parts[-1].name.lower()
            dropped |= {name} & declared
        elif isinstance(statement, syntax.CreateTable | syntax.CreateView):
            name = statement.name.parts[-1].name.lower()
            if name in dropped:
                message = f'"{statement.name.parts[-1].name}" is dropped and declared again'
                label = Label(statement.name.span, "another meaning of the name")
                helps = ("use another name: in the script of a job, a name has one meaning",)
                raise FsqlError([Diagnostic("E640", message, label, helps=helps)], source)
            declared.add(name)


def _parameter_names(script: Script, given: Mapping[str, str]) -> dict[str, str]:
    """Return the names that the parameters of a script have beside those that a job has."""
    names: dict[str, str] = {}
    values = dict(given)
    used = dict.fromkeys(name for name, _ in parameter_uses(script.source))
    for name in used:
        value = script.parameters[name]
        others = (f"{name}_{number}" for number in itertools.count(2))
        free = (each for each in others if each not in used)
        candidates = itertools.chain((name,), free)
        names[name] = next(each for each in candidates if values.get(each, value) == value)
        values[names[name]] = value
    return names


def _path_edits(
    statements: Iterable[syntax.Statement], script: Script, job: Script
) -> Iterator[_Edit]:
    """Yield the changes that make the paths in options absolute, if the directories differ."""
    if script.base_directory == job.base_directory:
        return
    for record in _records(statements):
        if not isinstance(record, syntax.CreateTable | syntax.Hint):
            continue
        options = {each.key.value.strip().lower(): each.value for each in record.options}
        for key in PATH_OPTIONS:
            literal = options.get(key)
            if literal is not None and not PurePath(literal.value).is_absolute():
                yield _absolute(literal.span, literal.value, script)


def _absolute(span: Span, value: str, script: Script) -> _Edit:
    """Return the change of a string with a path: the directory comes before what is written."""
    directory = f"{str(script.base_directory).rstrip('/')}/"
    if script.source.text[span.start] == "'":
        return _Edit(Span(span.start + 1, span.start + 1), directory.replace("'", "''"))
    return _Edit(span, _quoted(directory + value))  # the value of a parameter, with its quotes


def _file_names(
    statements: Iterable[syntax.Statement], script: Script, job: Script
) -> dict[str, str]:
    """Return the names of the files in FROM, as the job writes them: their paths."""
    if script.base_directory == job.base_directory:
        return {}
    of_job = {
        paths.resolve(name, job.base_directory, ()): name
        for name, _ in _files(parse_script(job.source, job.parameters).statements)
    }
    names = {}
    for name, _ in _files(statements):
        known = of_job.get(paths.resolve(name, script.base_directory, ()))
        names[name] = str(script.base_directory / name) if known is None else known
    return names


def _file_edits(
    statements: Iterable[syntax.Statement], names: Mapping[str, str], source: SourceText
) -> Iterator[_Edit]:
    for name, span in _files(statements):
        new = names.get(name, name)
        if new == name:
            continue
        written = source.slice(span)
        if new.endswith(f"/{name}") and written.startswith("'"):
            before = new.removesuffix(name).replace("'", "''")
            yield _Edit(Span(span.start + 1, span.start + 1), before)
        else:
            yield _Edit(span, _quoted(new))


def _files(statements: Iterable[syntax.Statement]) -> Iterator[tuple[str, Span]]:
    """Yield the files in FROM, and where they are named."""
    for record in _records(statements):
        if isinstance(record, syntax.TableReference) and record.is_file:
            yield record.name.parts[0].name, record.name.span


def _records(statements: Iterable[syntax.Statement]) -> Iterator[syntax.Syntax]:
    return itertools.chain.from_iterable(map(records, statements))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _covers(span: Span, other: Span) -> bool:
    return span.start <= other.start and other.end <= span.end and span.start < span.end


def _edited(source: SourceText, span: Span, edits: Iterable[_Edit]) -> str:
    """Return the text of a span with the changes in it."""
    pieces: list[str] = []
    done = span.start
    within = (each for each in edits if span.start <= each.span.start and each.span.end <= span.end)
    for edit in sorted(within, key=lambda each: each.span):
        pieces += source.text[done : edit.span.start], edit.text
        done = edit.span.end
    return "".join([*pieces, source.text[done : span.end]])


def end_statement(text: str, last: Span) -> str:
    """Return the text of a script in which a `;` ends the last statement."""
    if _SEPARATOR.match(text, last.end) is not None:
        return text
    return f"{text[: last.end]};{text[last.end :]}"
