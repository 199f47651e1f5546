"""The output of `fsql test`: a line for each case, a table of the rows that differ; and JUnit XML."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import click

from fsql.compiler.diagnostics.numbers import count_text, seconds_text
from fsql.compiler.diagnostics.render import render_json, render_text
from fsql.console.reporter import wants_colours
from fsql.job.cases.case_file import ERROR
from fsql.job.cases.rows import cell_text, column_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.compiler.diagnostics import FsqlError
    from fsql.console.reporter import Reporter
    from fsql.console.test_run import FileResult, TestedFiles
    from fsql.job.cases.case_run import CaseResult, Difference
    from fsql.job.cases.rows import Row

_AROUND: Final = 2
"""The number of equal rows that are shown before and after a row that differs."""
_CELL_MAX: Final = 60
_COLOURS: Final = {"-": "red", "+": "green"}


def print_results(run: TestedFiles, reporter: Reporter, junit: Path | None) -> None:
    """Print the results to standard output and a summary as a message; write JUnit XML."""
    seconds = sum(each for file in run.files for _, each in file.cases)
    if reporter.json:
        click.echo(
            json.dumps(
                {"passed": run.passed, "files": [*map(_facts, run.files)]}, ensure_ascii=False
            )
        )
    else:
        coloured = reporter.coloured and wants_colours(sys.stdout, refused=False)
        for file in run.files:
            click.echo(_file_text(file, quiet=reporter.quiet, coloured=coloured), nl=False)
    if junit is not None:
        _write_junit(run, junit)
    text = f"{_count_text(run.count)}: {run.count - run.failed} passed, {run.failed} failed"
    if unreadable := sum(file.error is not None for file in run.files):
        text += f", {unreadable} file{'' if unreadable == 1 else 's'} not read"
    fields = {"cases": run.count, "failed": run.failed, "seconds": round(seconds, 3)}
    if not reporter.json:
        reporter.inform("tested", fields, f"{text}, in {seconds_text(seconds)}\n")


def _count_text(count: int) -> str:
    return f"{count_text(count)} case{'' if count == 1 else 's'}"


def _file_text(file: FileResult, *, quiet: bool, coloured: bool) -> str:
    if file.error is not None:
        return f"FAILED  {file.name}\n{_indent(render_text(file.error.diagnostics, file.error.source))}"
    lines = [f"recorded {file.name}\n"] if file.recorded and not quiet else []
    for result, _ in file.cases:
        position = f"{file.name}:{result.case.line}  {result.case.name}"
        if not result.passed:
            lines.append(f"FAILED  {position}\n{_indent(_reasons(result, coloured=coloured))}")
        elif not quiet:
            lines.append(f"ok      {position}\n")
    return "".join(lines)


def _indent(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines()) + "\n"


def _reasons(result: CaseResult, *, coloured: bool) -> str:
    if result.error is not None:
        return render_text(result.error.diagnostics, result.error.source, coloured=coloured)
    return "\n".join(_difference_text(each, coloured=coloured) for each in result.differences)


def _difference_text(difference: Difference, *, coloured: bool) -> str:
    """Return the rows that differ as a table, with some equal ones around them."""
    block = difference.block
    missing = sum(mark == "-" for mark, _ in difference.rows)
    added = sum(mark == "+" for mark, _ in difference.rows)
    title = f"{block.role} {block.name}".rstrip()
    head = f"{title}: {count_text(missing)} missing (-), {count_text(added)} not expected (+)\n"
    if block.role == ERROR:
        rows = [f"{mark} {row['error']}" for mark, row in difference.rows]
        return head + "".join(f"{line}\n" for line in rows)
    shown = _rows_to_show(difference.rows)
    names = column_names([row for _, row in difference.rows])
    cells = [[_cell(row, name) for name in names] for row in (row for _, row in difference.rows)]
    widths = [
        max(len(name), *(len(cells[number][at]) for number in shown))
        for at, name in enumerate(names)
    ]
    lines = [_line(" ", names, widths)]
    before = -1
    for number in shown:
        if number != before + 1:
            lines.append("  …")
        mark = difference.rows[number][0]
        line = _line(mark, cells[number], widths)
        lines.append(
            click.style(line, fg=_COLOURS[mark]) if coloured and mark in _COLOURS else line
        )
        before = number
    if before != len(cells) - 1:
        lines.append("  …")
    return head + "".join(f"{line}\n" for line in lines)


def _rows_to_show(rows: Sequence[tuple[str, Row]]) -> list[int]:
    """Return the indexes of the rows that differ, and of rows near them."""
    differing = [number for number, (mark, _) in enumerate(rows) if mark != " "]
    near = {number + step for number in differing for step in range(-_AROUND, _AROUND + 1)}
    return [number for number in range(len(rows)) if number in near]


def _line(mark: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    texts = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return f"{mark} {'  '.join(texts)}".rstrip()


def _cell(row: Row, name: str) -> str:
    from fsql.console.change_table import printable

    if name not in row:
        return ""
    value = row[name]
    text = printable("NULL" if value is None else cell_text(value))
    return text if len(text) <= _CELL_MAX else f"{text[: _CELL_MAX - 1]}…"


def _facts(file: FileResult) -> dict[str, object]:
    return {
        "file": file.name,
        "diagnostics": [] if file.error is None else _diagnostics(file.error),
        "cases": [
            {
                "name": result.case.name,
                "line": result.case.line,
                "passed": result.passed,
                "diagnostics": [] if result.error is None else _diagnostics(result.error),
                "differences": [
                    {"role": each.block.role, "name": each.block.name, "rows": _mark(each)}
                    for each in result.differences
                ],
            }
            for result, _ in file.cases
        ],
    }


def _mark(difference: Difference) -> list[list[object]]:
    return [
        [mark, {name: None if value is None else cell_text(value) for name, value in row.items()}]
        for mark, row in difference.rows
    ]


def _diagnostics(error: FsqlError) -> object:
    return json.loads(render_json(error.diagnostics, error.source))


def _write_junit(run: TestedFiles, path: Path) -> None:
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    suites = Element("testsuites", tests=str(run.count), failures=str(run.failed))
    for file in run.files:
        failed = sum(not result.passed for result, _ in file.cases)
        attributes = {"name": file.name, "tests": str(len(file.cases)), "failures": str(failed)}
        suite = SubElement(suites, "testsuite", attributes, errors=str(int(file.error is not None)))
        if file.error is not None:
            case = SubElement(suite, "testcase", name=file.name, classname=file.name)
            error = SubElement(case, "error", message=file.error.diagnostics[0].message)
            error.text = _xml_text(render_text(file.error.diagnostics, file.error.source))
        for result, seconds in file.cases:
            name = _xml_text(result.case.name)
            case = SubElement(
                suite, "testcase", name=name, classname=file.name, time=f"{seconds:.3f}"
            )
            if not result.passed:
                failure = SubElement(case, "failure", message=_message(result))
                failure.text = _xml_text(_reasons(result, coloured=False))
    indent(suites)
    path.write_bytes(tostring(suites, "utf-8", xml_declaration=True) + b"\n")


def _message(result: CaseResult) -> str:
    if result.error is not None:
        return _xml_text(result.error.diagnostics[0].message)
    return ", ".join(f"{each.block.role} {each.block.name}".rstrip() for each in result.differences)


def _xml_text(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return "".join(each if each >= " " or each in "\t\n" else "\ufffd" for each in text)
