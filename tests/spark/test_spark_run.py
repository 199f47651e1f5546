"""A job on Spark writes the bytes that the streaming engine writes, and fails with the same errors."""

from __future__ import annotations

import shutil
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from click.testing import CliRunner

from fsql.cli import main
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.file.output_files import Existing
from fsql.job.compilation import compile_job
from fsql.job.outputs import open_outputs
from fsql.job.planning import RunOptions
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.job.spark import spark_run
from fsql.runtime.drivers.local import Edges
from fsql.tests.cli.commands import process
from fsql.tests.queries.examples import EXAMPLES, Example
from fsql.tests.spark.shared_session import PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fsql.job.script import Script
    from fsql.runtime.drivers.spark.run import SparkRun


def run(script: Path, session: SparkSession) -> SparkRun:
    return run_script(read_script(str(script), {}), session)


def run_script(script: Script, session: SparkSession) -> SparkRun:
    compiled = compile_job(script)
    splits = open_splits(compiled)
    options = RunOptions(workers=PARTITIONS)
    with open_outputs(compiled, splits, Existing.REFUSE, None) as outputs:
        each = spark_run(
            compiled, splits, options, Edges(splits, outputs), lambda _: nullcontext(session)
        )
        each.run()
    return each


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_example_on_spark_writes_the_expected_files(
    example: Example, session: SparkSession, tmp_path: Path
) -> None:
    metrics = run_script(example.script_in(tmp_path), session).metrics
    written = {path.name: path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))}
    assert written == example.expected
    # Rejected rows are read, too.
    assert metrics.rows_in == sum(
        len(rows) for splits in example.inputs.values() for rows in splits
    )


def test_a_malformed_row_ends_the_job_after_the_rows_before_it(
    session: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n{"a": "x"}\n{"a": 3}\n')
    script = tmp_path / "query.sql"
    script.write_text(
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'path' = 'in.jsonl');"
        "CREATE TABLE s (a INT) WITH ('connector' = 'file', 'path' = 'out.jsonl');"
        "INSERT INTO s SELECT a + 1 AS a FROM t;"
    )
    stopped = run(script, session).stopped
    assert stopped is not None
    assert (stopped.dead_letter is not None, (tmp_path / "out.jsonl").read_text()) == (
        True,
        '{"a":2}\n',
    )


def test_a_split_that_is_gone_is_named(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n')
    script = tmp_path / "query.sql"
    script.write_text(
        "CREATE TABLE t (a INT) WITH ('connector' = 'file', 'path' = 'in.jsonl');"
        "CREATE TABLE s (a INT) WITH ('connector' = 'blackhole');"
        "INSERT INTO s SELECT a FROM t;"
    )
    compiled = compile_job(read_script(str(script), {}))
    splits = open_splits(compiled)
    with open_outputs(compiled, splits, Existing.REFUSE, None) as outputs:
        edges = Edges(splits, outputs)
        each = spark_run(
            compiled, splits, RunOptions(workers=2), edges, lambda _: nullcontext(session)
        )
        (tmp_path / "in.jsonl").unlink()
        with pytest.raises(FsqlError) as failed:
            each.run()
    assert [d.code for d in failed.value.diagnostics] == ["E531"]


def test_the_command_runs_on_spark(tmp_path: Path) -> None:
    example = EXAMPLES["word_count"]
    script = example.copy_to(tmp_path)
    command = process("run", script, "--engine=spark", "--master=local[1]", "--quiet")
    assert (command.communicate(), command.returncode) == ((b"", b""), 0)
    assert {p.name: p.read_text() for p in sorted(tmp_path.glob("*.jsonl"))} == example.expected


def test_a_session_leaves_the_handler_of_ctrl_c(session: SparkSession) -> None:
    assert session.version
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_master_that_is_no_address_is_an_error_of_the_user(tmp_path: Path) -> None:
    script = EXAMPLES["word_count"].copy_to(tmp_path)
    command = process("run", script, "--engine=spark", "--master=nonsense", "--quiet")
    _, printed = command.communicate()
    first, _, why, advice = printed.decode().splitlines()
    assert (command.returncode, first) == (1, "error[FSQL-E661]: Spark has failed")
    assert "Master must" in why
    shutil.rmtree(Path(advice.removeprefix("  = help: read ")).parent)


def test_generated_rows_with_a_rate_are_those_without(
    session: SparkSession, tmp_path: Path
) -> None:
    written = {}
    for rate in ("", ", 'rate' = '1'"):
        script = tmp_path / "query.sql"
        script.write_text(
            "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'count' = '1000'" + rate + ");"
            "CREATE TABLE w (line STRING) WITH"
            " ('connector' = 'documents', 'words' = '2', 'count' = '1000'" + rate + ");"
            "CREATE TABLE s (a INT) WITH ('connector' = 'file', 'path' = 'a.jsonl');"
            "CREATE TABLE l (line STRING) WITH ('connector' = 'file', 'path' = 'l.jsonl');"
            "INSERT INTO s SELECT a FROM t; INSERT INTO l SELECT line FROM w;"
        )
        run(script, session)
        written[rate] = [(tmp_path / name).read_text() for name in ("a.jsonl", "l.jsonl")]
        for name in ("a.jsonl", "l.jsonl"):
            (tmp_path / name).unlink()
    assert [len(text.splitlines()) for text in written[""]] == [1000, 1000]
    assert written[""] == written[", 'rate' = '1'"]


@pytest.mark.parametrize(
    ("connector", "rest", "note"),
    [
        ("stdin", "", "the tasks of Spark are other processes than this one"),
        (
            "socket",
            ", 'address' = '127.0.0.1:0'",
            "the tasks of Spark are other processes than this one",
        ),
        (
            "kafka",
            ", 'servers' = '127.0.0.1:1', 'topic' = 'x', 'ends' = 'latest'",
            "a task of Spark that is repeated could read other rows",
        ),
    ],
)
def test_input_that_spark_cannot_read_is_refused(
    connector: str, rest: str, note: str, tmp_path: Path
) -> None:
    script, written = tmp_path / "query.sql", tmp_path / "written.jsonl"
    written.write_text("of an earlier run\n")
    script.write_text(
        f"CREATE TABLE t (a INT) WITH ('connector' = '{connector}'{rest});"
        f"CREATE TABLE s (a INT) WITH ('connector' = 'file', 'path' = '{written}');"
        "INSERT INTO s SELECT a FROM t;"
    )
    result = CliRunner().invoke(main, ["run", str(script), "--engine=spark", "--overwrite"])
    assert result.exit_code == 1
    assert "error[FSQL-E534]" in result.stderr
    assert f'table "t" is read by connector "{connector}", which Spark cannot read' in result.stderr
    assert f"= note: {note}" in result.stderr
    assert written.read_text() == "of an earlier run\n"


def test_without_java_outputs_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find() -> NoReturn:
        raise FsqlError([Diagnostic("E644", "Java is needed")])

    monkeypatch.setattr("fsql.runtime.drivers.spark.session.find_java", find)
    script, written = tmp_path / "query.sql", tmp_path / "written.jsonl"
    written.write_text("of an earlier run\n")
    script.write_text(
        "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'count' = '1');"
        f"CREATE TABLE s (a INT) WITH ('connector' = 'file', 'path' = '{written}');"
        "INSERT INTO s SELECT a FROM t;"
    )
    result = CliRunner().invoke(main, ["run", str(script), "--engine=spark", "--overwrite"])
    assert (result.exit_code, written.read_text()) == (1, "of an earlier run\n")
    assert "error[FSQL-E644]" in result.stderr
