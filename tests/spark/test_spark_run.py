"""A job on Spark writes the bytes that the streaming engine writes, and fails with the same errors."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from fsql.cli import main
from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.file.output_files import Existing
from fsql.job.compilation import compile_job
from fsql.job.outputs import open_outputs
from fsql.job.planning import RunOptions, open_splits
from fsql.job.script_file import read_script
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
        each = spark_run(compiled, splits, options, Edges(splits, outputs), nullcontext(session))
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
        each = spark_run(compiled, splits, RunOptions(workers=2), edges, nullcontext(session))
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


def test_a_master_that_is_no_address_is_an_error_of_the_user(tmp_path: Path) -> None:
    script = EXAMPLES["word_count"].copy_to(tmp_path)
    command = process("run", script, "--engine=spark", "--master=nonsense", "--quiet")
    _, printed = command.communicate()
    first, _, why, advice = printed.decode().splitlines()
    assert (command.returncode, first) == (1, "error[FSQL-E661]: Spark has failed")
    assert "Master must" in why
    shutil.rmtree(Path(advice.removeprefix("  = help: read ")).parent)


@pytest.mark.parametrize(
    ("connector", "rest"),
    [("stdin", ""), ("socket", ", 'address' = '127.0.0.1:0'")],
)
def test_input_of_one_process_is_refused(connector: str, rest: str, tmp_path: Path) -> None:
    script = tmp_path / "query.sql"
    script.write_text(
        f"CREATE TABLE t (a INT) WITH ('connector' = '{connector}'{rest});"
        "CREATE TABLE s (a INT) WITH ('connector' = 'blackhole');"
        "INSERT INTO s SELECT a FROM t;"
    )
    result = CliRunner().invoke(main, ["run", str(script), "--engine=spark"])
    assert result.exit_code == 1
    assert "error[FSQL-E534]" in result.stderr
    assert f'table "t" is read by connector "{connector}", which Spark cannot read' in result.stderr
