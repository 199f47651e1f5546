"""Runs the cases of files, and records their results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.job.cases.case_file import read_case_file
from fsql.job.cases.case_run import run_case
from fsql.job.cases.recording import record_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.job.cases.case_file import CaseFile
    from fsql.job.cases.case_run import CaseInput, CaseResult


@dataclass(frozen=True, slots=True)
class FileResult:
    """The cases of a file with the duration of each; `error` is why the file cannot be read."""

    name: str
    cases: tuple[tuple[CaseResult, float], ...] = ()
    error: FsqlError | None = None
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class TestedFiles:
    """The results of all files, in the order of their names."""

    files: tuple[FileResult, ...]

    @property
    def passed(self) -> bool:
        """Return whether no case failed, or all failures were recorded."""
        return not any(each.error for each in self.files) and self.failed == 0

    @property
    def failed(self) -> int:
        """Return the number of failed cases."""
        return sum(not result.passed for each in self.files for result, _ in each.cases)

    @property
    def count(self) -> int:
        """Return the number of cases that ran."""
        return sum(len(each.cases) for each in self.files)


def find_case_files(paths: Sequence[str]) -> list[str]:
    """Return the files of cases: the named files, and all `*.md` in the named directories, sorted."""
    found: list[str] = []
    for name in paths:
        path = Path(name)
        found += sorted(str(each) for each in path.rglob("*.md")) if path.is_dir() else [name]
    return list(dict.fromkeys(found))


def run_case_files(
    names: Sequence[str], given: CaseInput, only: str | None, *, record: bool
) -> TestedFiles:
    """Run the cases of files whose names contain `only`; with `record`, write their results."""
    return TestedFiles(tuple(_file_result(name, given, only, record=record) for name in names))


def _file_result(name: str, given: CaseInput, only: str | None, *, record: bool) -> FileResult:
    try:
        file = read_case_file(Path(name), name)
    except FsqlError as error:
        return FileResult(name, error=error)
    results = _results(file, given, only)
    if not record:
        return FileResult(name, results)
    text = record_results(file, [result for result, _ in results])
    if text == file.source.text:
        return FileResult(name, results)
    file.path.write_bytes(text.encode())
    again = _results(read_case_file(Path(name), name), given, only)
    return FileResult(name, again, recorded=True)


def _results(
    file: CaseFile, given: CaseInput, only: str | None
) -> tuple[tuple[CaseResult, float], ...]:
    results = []
    for case in file.cases:
        if only is None or only.lower() in case.name.lower():
            begun = time.perf_counter()
            result = run_case(file, case, given)
            results.append((result, time.perf_counter() - begun))
    return tuple(results)
