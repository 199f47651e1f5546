"""The queries of the case files as jobs: over random rows in files, with everything written to files.

Their tables have no input of their own, and some of their sinks write nothing.  So each table gets a
directory with a file for each split, some lines of which are malformed and become rejects; each sink
that is not standard output gets a file, and one for its late rows where the query has windows.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.runtime.ports import DeadLetter
from fsql.tests.cluster.jobs import Job
from fsql.tests.property.test_case_queries import rows_of
from fsql.tests.property.test_files import MALFORMED, line

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.logical import Table

_CREATE: Final = re.compile(r"(CREATE TABLE (\w+) .*? WITH) \((.*?)\);", re.DOTALL)
_SPLITS_MAX: Final = 3
_MALFORMED: Final = 0.05


def case_job(name: str, text: str, directory: Path, rows_max: int) -> Job:
    """Write a script of the case files, and random input for it; return the job."""
    tables = {
        table.name: table
        for table in compile_script(SourceText(name, text), DECLARED).logical.tables
    }

    def moved(late: str) -> str:
        def with_files(create: re.Match[str]) -> str:
            head, table, options = create.groups()
            return f"{head} ({_options(table, options, late, read=table in tables)});"

        return _CREATE.sub(with_files, text)

    path = directory / "script.sql"
    random = Random(name)
    for table in tables.values():
        _write_input(random, table, directory / f"in-{table.name}", rows_max)
    try:
        path.write_text(moved(", 'late_path' = 'late-{table}.jsonl'"), encoding="utf-8")
        return Job.of(path)
    except FsqlError:  # no windows, no late rows
        path.write_text(moved(""), encoding="utf-8")
        return Job.of(path)


def _options(table: str, options: str, late: str, *, read: bool) -> str:
    own = re.sub(r", 'path' = '[^']*'", "", options)
    if read:
        dead_letters = f"'on_error' = 'reject', 'rejects_path' = 'rejects-{table}.jsonl'"
        return f"{own}, 'path' = 'in-{table}', {dead_letters}"
    if "'stdout'" in own:
        return own + late.format(table=table)
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
