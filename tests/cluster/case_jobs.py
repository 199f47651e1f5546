"""The queries of the case files as jobs: over random rows in files, with everything written to files.

Their tables have no input of their own, and some of their sinks write nothing.  So each table gets a
directory with a file for each split, some lines of which are malformed and become rejects; each sink gets a
file, and one for its late rows where the query has windows.

Several queries are joined to one job: it takes a few processes and compilations, however many queries it has.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.parser import parse_script
from fsql.compiler.parser.parse_table import parse_table
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.runtime.ports import DeadLetter
from fsql.tests.cluster.jobs import Job
from fsql.tests.property.test_case_queries import rows_of
from fsql.tests.property.test_files import MALFORMED, line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table

_CREATE: Final = re.compile(
    r"(CREATE (?:TABLE|SOURCE|SINK) (?:IF NOT EXISTS )?(\w+) .*? WITH) \((.*?)\)( FORMAT [^;]*)?;",
    re.DOTALL,
)
_CREATED: Final = re.compile(
    r"CREATE (?:TABLE|STREAM|SOURCE|SINK|TYPE|(?:MATERIALIZED )?VIEW) (?:IF NOT EXISTS )?(\w+)"
)
_WRITTEN: Final = re.compile(r"INSERT (?:INTO|OVERWRITE) (\w+)")
_PARTITIONED: Final = re.compile(r" PARTITIONED BY \([^)]*\)")
_NUMBERED: Final = re.compile(r"CREATE TABLE (\w+) [^;]*'time' = 'offset'")
_SETTING: Final = re.compile(r"^SET .*;\n", re.MULTILINE)
_TOKEN: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\w+")
_LATE: Final = "/* late */"
_SPLITS_MAX: Final = 3
_MALFORMED: Final = 0.05


def settings_of(text: str) -> str:
    """Return the settings of a script."""
    return "".join(_SETTING.findall(text))


def common_of(text: str) -> tuple[str, bool]:
    """Return what queries of one job have in common: settings, and whether rows of tables are numbered."""
    names = _NUMBERED.findall(text)
    return settings_of(text), any(len(re.findall(rf"\b{name}\b", text)) > 1 for name in names)


def joined_job(
    queries: Sequence[tuple[str, str]], directory: Path, rows_max: int, *, prints: bool = True
) -> Job:
    """Write a script of queries with the same settings, and random input for it; return the job.

    Each query has tables of its own, and reads the same rows as it does alone.  The last one may write to
    standard output if the job `prints`, the others write to files.

    Raises:
        FsqlError: if a query cannot write to a file, or is not one of the same job as the others.
    """
    settings = settings_of(queries[0][1])
    directory.mkdir(parents=True)
    parts = []
    for number, (name, text) in enumerate(queries):
        apart = _apart(_SETTING.sub("", text), number)
        if not prints or number < len(queries) - 1:
            apart = _without_standard_output(apart, number)
        part, tables = _with_files(apart, number, settings)
        random = Random(name)
        for table in tables:
            file = dict(table.options).get("path", "")
            if file.startswith("in-"):  # A table with a hint has the path of the one without.
                _write_input(random, table, directory / file, rows_max)
        parts.append(part)
    path = directory / "script.sql"
    path.write_text(settings + "\n".join(parts), encoding="utf-8")
    return Job.of(path)


def _apart(text: str, number: int) -> str:
    """Return a script with tables of its own: a number is added to their names, and to columns named so."""
    names = {name.lower() for name in _CREATED.findall(text)}

    def renamed(token: re.Match[str]) -> str:
        is_keyword = token[0] in parse_table().keywords
        return token[0] if is_keyword or token[0].lower() not in names else f"{token[0]}_{number}"

    return _TOKEN.sub(renamed, text)


def _without_standard_output(text: str, number: int) -> str:
    """Return a script that writes to tables instead."""
    text = text.replace("'connector' = 'stdout'", "'connector' = 'blackhole'")
    last = parse_script(SourceText("script", text)).statements[-1]
    if not isinstance(last, syntax.SelectStatement):
        return text
    start, name = last.span.start, f"selected_{number}"
    options = f"'connector' = 'file', 'path' = 'out-{name}.jsonl'{_LATE}"
    return f"{text[:start]}CREATE TABLE {name} WITH ({options}) AS {text[start:]}"


def _with_files(text: str, number: int, settings: str) -> tuple[str, tuple[Table, ...]]:
    """Return a script whose tables are files, and the tables that it reads."""
    written = {name.lower() for name in _WRITTEN.findall(text)}

    def moved(late: str) -> tuple[str, tuple[Table, ...]]:
        def with_files(create: re.Match[str]) -> str:
            head, table, options, form = create.groups(default="")
            if _PARTITIONED.search(head):
                if "'blackhole'" in options:
                    return create[0]
                head = _PARTITIONED.sub("", head)  # No folders: the columns are in the rows.
            sink = head.startswith("CREATE SINK") or table.lower() in written
            return f"{head} ({_options(table, options, late, written=sink)}){form};"

        part = _CREATE.sub(with_files, text)
        part = part.replace(_LATE, late.format(table=f"selected_{number}"))
        return part, compile_script(SourceText("script", settings + part), DECLARED).logical.tables

    try:
        return moved(", 'late_path' = 'late-{table}.jsonl'")
    except FsqlError:  # no windows, no late rows
        return moved("")


def _options(table: str, options: str, late: str, *, written: bool) -> str:
    own = re.sub(r", 'path' = '[^']*'", "", options)
    if "'stdout'" in own:
        return own + late.format(table=table)
    if not written and "'blackhole'" not in own:
        dead_letters = f"'on_error' = 'reject', 'rejects_path' = 'rejects-{table}.jsonl'"
        return f"{own}, 'path' = 'in-{table}', {dead_letters}"
    own = own.replace("'blackhole'", "'file'")
    return f"{own}, 'path' = 'out-{table}.jsonl'{late.format(table=table)}"


def _write_input(random: Random, table: Table, directory: Path, rows_max: int) -> None:
    directory.mkdir()
    text = dict(table.options).get("format") == "text"
    for split in range(random.randint(1, _SPLITS_MAX)):
        with (directory / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for row in rows_of(random, table, rows_max):
                assert not isinstance(row, DeadLetter)
                if not text and random.random() < _MALFORMED:
                    file.write(random.choice(list(MALFORMED.values())) + "\n")
                file.write(f"{row[0] if text else line(random, table.columns, row)}\n")
