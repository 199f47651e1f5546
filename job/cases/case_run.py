"""Runs a case: the script with the rows of the case as its input, in this process.

Only the time of the rows counts: no source waits, and no clock is read.  The output is kept in memory.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.constants import ONE_ROW
from fsql.compiler.connectors import FORMAT, IMAGES, OLD_KEY, REQUIRED, TIME_OPTIONS, Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.logical import Job
from fsql.compiler.lowering import lower
from fsql.compiler.pipeline import apply_rules
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText, Span
from fsql.connectors.context import ConnectorContext
from fsql.connectors.declared import DECLARED
from fsql.connectors.opening import open_source
from fsql.connectors.released_lines import ReleasedLines
from fsql.connectors.settings import settings_of
from fsql.connectors.side_outputs import DeadLetterLines, LateLines, Origins
from fsql.connectors.stream_stores import StreamStore
from fsql.formats.factories import make_encoder
from fsql.job.cases.case_file import ERROR, INPUT, RESULT, Block, Case
from fsql.job.cases.rows import (
    RowsError,
    cell_text,
    column_names,
    csv_rows,
    csv_text,
    difference,
    final_rows,
    json_rows,
    json_text,
)
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script import Script
from fsql.job.script_file import read_script
from fsql.job.sinks import late_operators
from fsql.job.stop import stop_error
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.drivers.output_writer import Outputs, OutputWriter
from fsql.runtime.sink import LocalSink

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fsql.compiler.logical import Insert, SinkTable, Table
    from fsql.job.cases.case_file import CaseFile
    from fsql.job.cases.rows import Row
    from fsql.job.compilation import Compiled
    from fsql.runtime.ports import Split
    from fsql.runtime.sink import ContentsEncoder

_OF_RUNS: Final = ("split", "byte")
"""Columns of late and malformed rows that depend on how the rows of a case are passed to the run."""
_KEPT: Final = (
    *("changes", "op_column", "on_error", IMAGES, OLD_KEY, REQUIRED),
    *(option.key for option in TIME_OPTIONS),
)
"""Options of a table that determine the meaning of its rows, whatever their source."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A block whose rows differ from the actual rows; each row is marked (see `difference`)."""

    block: Block
    rows: tuple[tuple[str, Row], ...]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case.

    `actual` has the text of each expected or possible block, by role and name.  `error` is what ended the
    run, or prevented it from starting, if that was not expected.
    """

    case: Case
    differences: tuple[Difference, ...] = ()
    error: FsqlError | None = None
    actual: Mapping[tuple[str, str, str], str] | None = None

    @property
    def passed(self) -> bool:
        """Return whether the actual results are exactly the expected ones."""
        return not self.differences and self.error is None


@dataclass(frozen=True, slots=True)
class _Ran:
    """The rows that a run has written, by role and name, and the error that has ended it."""

    sinks: Mapping[str, SinkTable]
    written: Mapping[tuple[str, str], str]
    error: FsqlError | None


@dataclass(frozen=True, slots=True)
class CaseInput:
    """Input of all cases: values of `${name}` that cases do not set, and folders of functions."""

    parameters: Mapping[str, str]
    functions: tuple[Path, ...] = ()


def run_case(file: CaseFile, case: Case, given: CaseInput) -> CaseResult:
    """Run a case and compare its results with the expected ones."""
    try:
        ran = _run(_script_of(file, case, given), file, case)
        return _compare(file, case, ran)
    except FsqlError as error:
        return CaseResult(case, error=error)


def _script_of(file: CaseFile, case: Case, given: CaseInput) -> Script:
    parameters = {**given.parameters, **dict(case.parameters)}
    if case.script is None:
        text = file.statements(case)
        if not text.strip():
            helps = ("name one: Script: ../queries/NAME.sql", "or write a block ```sql")
            raise _wrong(file, case, "the case has no script", helps)
        source = SourceText(file.source.name, text)
        base = file.path.resolve().parent
        return Script(source, parameters, base, functions=given.functions)
    path = Path(file.source.name).parent / case.script
    script = read_script(str(path), parameters)
    return script if script.plan_digest else replace(script, functions=given.functions)


def _wrong(
    file: CaseFile, block: Case | Block, message: str, helps: Sequence[str] = ()
) -> FsqlError:
    span = block.head if isinstance(block, Case) else block.fence
    return FsqlError([Diagnostic("E712", message, Label(span), helps=tuple(helps))], file.source)


# --- Running ---


def _run(script: Script, file: CaseFile, case: Case) -> _Ran:
    """Run the script with the input of the case.

    Raises:
        FsqlError: if the case names tables that the script does not have.
    """
    try:
        compiled = compile_job(script)
    except FsqlError as error:
        return _Ran({}, {}, error)
    _check_names(compiled, file, case)
    compiled = _with_late_rows(
        compiled, {each.name for each in case.expected if each.role == "late"}
    )
    inputs = {block.name: block for block in case.inputs}
    with TemporaryDirectory(prefix="fsql-test-") as directory:
        try:
            splits = {
                table.ordinal: _splits(table, inputs.get(table.name), Path(directory), file)
                for table in compiled.job.tables
            }
            return _execute(compiled, splits)
        except FsqlError as error:
            return _Ran({}, {}, error)


def _with_late_rows(compiled: Compiled, names: AbstractSet[str]) -> Compiled:
    """Return the job changed so that late rows of these tables have all columns, as if they were written."""
    if not names:
        return compiled
    inserts = [
        replace(
            insert, sink=replace(insert.sink, options=(*insert.sink.options, ("late_path", "late")))
        )
        if output_name(insert.sink) in names and "late_path" not in dict(insert.sink.options)
        else insert
        for insert in compiled.bound.inserts
    ]
    bound = Job(tuple(inserts))
    job = apply_rules(bound)
    return replace(compiled, bound=bound, job=job, graph=lower(job))


def _check_names(compiled: Compiled, file: CaseFile, case: Case) -> None:
    read = [table.name for table in compiled.job.tables if table.name != ONE_ROW]
    written = [output_name(insert.sink) for insert in compiled.job.inserts]
    for block in (*case.inputs, *case.expected):
        there = read if block.role in {INPUT, "rejects"} else written
        if block.role != ERROR and block.name not in there:
            does = "reads" if there is read else "writes"
            near = near_name(block.name, there)
            helps = (f"it {does} {near or ', '.join(there) or 'none'}",)
            raise _wrong(file, block, f'the script {does} no table "{block.name}"', helps)
    given = {block.name for block in case.inputs}
    for name in read:
        if name not in given:
            message = f'the case has no rows for table "{name}"'
            helps = (f"write a block ```json input {name}; it may be empty",)
            raise _wrong(file, case, message, helps)


def output_name(sink: SinkTable) -> str:
    """Return the name of a written table in cases."""
    return (
        RESULT
        if dict(sink.options)["connector"] == "stdout" and sink.name == "stdout"
        else sink.name
    )


def _splits(table: Table, block: Block | None, directory: Path, file: CaseFile) -> Sequence[Split]:
    """Return the rows of a block as the only split of a table; without a block, its own rows.

    Raises:
        FsqlError: E712, if the table cannot read rows in the language of the block.
    """
    if block is None:
        return open_source(table, ConnectorContext(directory))
    given = dict(table.options)
    declared = DECLARED.connector(given["connector"])
    carries = declared is not None and declared.option(FORMAT.key) is not None
    own = given.get(FORMAT.key, FORMAT.default) if carries else None
    options = {key: given[key] for key in _KEPT if key in given}
    language = block.language
    of_own = DECLARED.format(own) if own is not None else None
    by_line = of_own is not None and of_own.layout is Layout.LINES
    if (
        of_own is not None
        and by_line
        and (language in {"text", own} or _envelope(of_own.name, language))
    ):
        options[FORMAT.key] = of_own.name
        options |= {
            option.key: given[option.key] for option in of_own.options if option.key in given
        }
    elif language == "text":
        message = f'table "{table.name}" has no format of lines; give its rows as json or csv'
        raise _wrong(file, block, message)
    elif of_own is not None and of_own.has_envelope:
        raise _wrong(file, block, f'table "{table.name}" has format {own}; give its rows as json')
    else:
        options[FORMAT.key] = language
    path = directory / f"{table.ordinal}.{language}"
    path.write_bytes(block.text.encode())
    options |= {"connector": "file", "path": str(path), "compression": "none"}
    return open_source(replace(table, options=tuple(options.items())), ConnectorContext(directory))


def _envelope(own: str, language: str) -> bool:
    return language == "json" and own.endswith("-json")


def _execute(compiled: Compiled, splits: Mapping[int, Sequence[Split]]) -> _Ran:
    origins = Origins({table.ordinal: table.name for table in compiled.job.tables}, splits)
    streams: dict[tuple[str, str], io.BytesIO] = {}
    writers: list[OutputWriter] = []

    def collect(key: tuple[str, str], output: Output, lines: ContentsEncoder) -> None:
        stream = streams.setdefault(key, io.BytesIO())
        writers.append(OutputWriter(output, LocalSink(StreamStore(stream, key[1]), lines)))

    for number, insert in enumerate(compiled.job.inserts):
        name = output_name(insert.sink)
        rows = Output(DeliveryOption.NONE, insert=number, name=name)
        collect(("output", name), rows, _json_lines(insert))
        if windows := late_operators(compiled.job, insert):
            late = Output(DeliveryOption.NONE, windows=frozenset(windows), name=name)
            collect(("late", name), late, LateLines(windows, origins))
    for table in compiled.job.tables:
        rejects = Output(DeliveryOption.NONE, dead_letters_of=table.ordinal, name=table.name)
        collect(("rejects", table.name), rejects, DeadLetterLines(origins))
    outputs = Outputs(writers)
    run = LocalRun(choose_plan(compiled, splits, RunOptions()), Edges(splits, outputs))
    error = None
    try:
        run.run()
        if run.stopped is not None:
            error = stop_error(run.stopped, compiled, splits, run.metrics.rows_out)
    except FsqlError as failed:
        error = failed
    sinks = {output_name(insert.sink): insert.sink for insert in compiled.job.inserts}
    return _Ran(sinks, {key: each.getvalue().decode() for key, each in streams.items()}, error)


def _json_lines(insert: Insert) -> ReleasedLines:
    """Return an encoder of the rows of an INSERT as JSON lines, whatever the format of its table."""
    kept = {key: value for key, value in insert.sink.options if key in _KEPT}
    options = {**kept, "connector": "stdout", "format": "json"}
    sink = replace(insert.sink, options=tuple(options.items()))
    return ReleasedLines(make_encoder(sink, settings_of(sink.options)))


# --- Comparing ---


def _compare(file: CaseFile, case: Case, ran: _Ran) -> CaseResult:
    """Compare the results of a run with the expected ones.

    Raises:
        FsqlError: E711, if expected rows cannot be read; E712, if the case expects nothing.
    """
    wanted_error = next((block for block in case.expected if block.role == ERROR), None)
    if ran.error is not None and wanted_error is None:
        return CaseResult(case, error=ran.error)
    actual = _texts(case, ran)
    differences = []
    for block in case.expected:
        rows = _mark_rows(file, block, ran)
        if any(mark != " " for mark, _ in rows):
            differences.append(Difference(block, tuple(rows)))
    if not case.expected:
        helps = ("write a block ```json output TABLE", "or let --record write it")
        error = _wrong(file, case, "the case expects nothing", helps)
        return CaseResult(case, error=error, actual=actual)
    return CaseResult(case, tuple(differences), actual=actual)


def _mark_rows(file: CaseFile, block: Block, ran: _Ran) -> list[tuple[str, Row]]:
    """Return the rows of a block and the actual rows, with marks."""
    if block.role == ERROR:
        expected = [{"error": line} for line in block.text.splitlines() if line.strip()]
        actual = [{"error": line} for line in _error_lines(ran.error)]
        return difference(expected, actual, ordered=True)
    try:
        given = _rows_of(block)
    except RowsError as error:
        line = file.source.line_column(block.fence.start)[0] + 1 + error.line
        label = Label(file.source.line_spans[line - 1])
        raise FsqlError([Diagnostic("E711", str(error), label)], file.source) from None
    came = _rows(block, ran, column_names(given))
    if block.language == "csv":
        came = [{name: cell_text(value) for name, value in row.items()} for row in came]
    return difference(given, came, ordered=block.role != "table")


def _rows_of(block: Block) -> list[Row]:
    """Return the rows of a block.

    Raises:
        RowsError: if a line cannot be read.
    """
    return json_rows(block.text) if block.language == "json" else csv_rows(block.text)


def _rows(block: Block, ran: _Ran, columns: Sequence[str]) -> list[Row]:
    """Return the actual rows for a block; of late and malformed rows only `columns`, if given."""
    role, name = block.role, block.name
    rows = json_rows(ran.written.get(("output" if role == "table" else role, name), ""))
    if role == "table":
        return final_rows(rows, ran.sinks[name]) if name in ran.sinks else []
    if role == "output":
        return rows
    wanted = columns or [each for each in column_names(rows) if each not in _OF_RUNS]
    return [{each: row[each] for each in wanted if each in row} for row in rows]


def _error_lines(error: FsqlError | None) -> list[str]:
    if error is None:
        return []
    return [f"FSQL-{each.code}: {each.message}" for each in error.diagnostics]


def _texts(case: Case, ran: _Ran) -> dict[tuple[str, str, str], str]:
    """Return the correct text of blocks, by role, name and language: of those in the case, or all outputs."""
    nowhere = Span(0, 0)
    blocks = case.expected or tuple(
        Block("output", name, "json", "", nowhere, nowhere) for name in ran.sinks
    )
    return {(each.role, each.name, each.language): _text(each, ran) for each in blocks}


def _text(block: Block, ran: _Ran) -> str:
    if block.role == ERROR:
        return "".join(f"{line}\n" for line in _error_lines(ran.error))
    try:
        columns = column_names(_rows_of(block))
    except RowsError:
        columns = []
    rows = _rows(block, ran, columns)
    if block.language == "csv":
        return csv_text(rows)
    return "".join(f"{json_text(row)}\n" for row in rows)
