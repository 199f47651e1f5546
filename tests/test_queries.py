"""The example queries write what their folders say they write, whatever runs them and however.

The expected files are held against the prefix oracle, which shares no code with the engine, and the
engine is held against the files: by the command, from files to files, and by the in-memory driver, in
orders of events that seeds decide.  FSQL_SEEDS=0:6 tries other seeds than those of the suite.  What is
wrong in parser or binder is wrong for the oracle as well; the files are there to be read.
"""

from __future__ import annotations

import json
import re
import shutil
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from fsql.cli import main
from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.dataflow import sink_gate
from fsql.runtime.drivers.in_memory import Outcome, run_in_memory
from fsql.tests.cli.commands import process
from fsql.tests.property.ways import window_schemas
from fsql.tests.queries.examples import EXAMPLES, Example
from fsql.tests.reference.lines import json_text, line
from fsql.tests.reference.oracle import evaluate_job
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import logical
    from fsql.compiler.expression import Value
    from fsql.runtime.batch import Batch

SEEDS = chosen_seeds(2)

each_example = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())
each_policy = pytest.mark.parametrize("policy", ["speculative", "ordered"])
each_count = pytest.mark.parametrize("workers", [1, 2, 4])


def written_by_command(example: Example, folder: Path, *flags: str) -> dict[str, str]:
    script = example.copy_to(folder)
    folders = [part for each in example.functions for part in ("--functions", str(each))]
    command = ["run", str(script), "--quiet", "--debug", *folders, *flags]
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    return {path.name: path.read_text() for path in sorted(folder.glob("*.jsonl"))}


def in_memory(example: Example, *, workers: int, policy: str, seed: int) -> Outcome:
    plan = choose(
        example.compiled.graph, workers=workers, fronts=example.fronts, policy=Policy(policy)
    )
    return run_in_memory(plan, example.inputs, seed=seed, batch_rows=4)


def sink_text(insert: logical.Insert, rows: Sequence[tuple[str | None, tuple[Value, ...]]]) -> str:
    """Return rows of an INSERT as the oracle's encoder writes them."""
    return "".join(f"{line(insert.sink, label or '+I', row)}\n" for label, row in rows)


@each_example
@pytest.mark.parametrize("flags", ["--workers=1", "--engine=model"])
def test_the_command_writes_the_expected_files(
    example: Example, flags: str, tmp_path: Path
) -> None:
    assert written_by_command(example, tmp_path, flags) == example.expected


BEHIND = ("--workers=2", "--policy=ordered", "--read-ahead=1")
AHEAD = ("--workers=4", "--policy=speculative")
ON_WORKERS = [("word_count", BEHIND), ("weighted_prices", AHEAD)]
"""Two examples, one with functions in Python.

`tests/cluster/test_queries_on_workers.py` runs each on workers, without the command.
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "flags"), ON_WORKERS)
def test_the_command_writes_the_expected_files_on_workers(
    name: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    example = EXAMPLES[name]
    assert written_by_command(example, tmp_path, *flags) == example.expected


@each_example
@each_policy
@each_count
@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_of_events_releases_the_expected_rows(
    example: Example, policy: str, workers: int, seed: int
) -> None:
    outcome = in_memory(example, workers=workers, policy=policy, seed=seed)
    for insert, released in zip(example.compiled.job.inserts, outcome.released, strict=True):
        sink = example.expected[dict(insert.sink.options)["path"]]
        assert sink_text(insert, [(label, row) for _, label, row in released]) == sink
    late = [row for rows in outcome.late for row in rows]
    assert len(late) == example.expected.get("late.jsonl", "").count("\n")
    assert len(outcome.dead_letters) == example.expected.get("rejects.jsonl", "").count("\n")


@each_example
def test_the_expected_files_are_what_each_prefix_of_the_input_means(example: Example) -> None:
    # The job as it was bound: what the rules make of it must write the same.
    result = evaluate_job(example.compiled.bound, example.inputs)
    for insert, released in zip(example.compiled.job.inserts, result.released, strict=True):
        sink = example.expected[dict(insert.sink.options)["path"]]
        assert "".join(f"{text}\n" for _, text in released) == sink


def test_the_expected_late_rows_and_dead_letters_are_those_of_the_oracle() -> None:
    example = EXAMPLES["top_speeds"]
    result = evaluate_job(example.compiled.bound, example.inputs)
    (columns,), (late,) = window_schemas(example.compiled.bound), result.late
    written = [json.loads(text) for text in example.expected["late.jsonl"].splitlines()]
    names = [column.name for column in columns]
    assert [[row[name] for name in names] for row in written] == [
        [
            json.loads(json_text(value, column.type))
            for column, value in zip(columns, row.values, strict=True)
        ]
        for row in late
    ]
    rejected = [json.loads(text) for text in example.expected["rejects.jsonl"].splitlines()]
    assert [(row["row"], row["code"]) for row in rejected] == [
        (dead_letter.row, f"FSQL-E{dead_letter.code}") for dead_letter in result.dead_letters
    ]


@each_example
def test_the_readme_shows_lines_of_the_expected_files(example: Example) -> None:
    shown = [
        text.strip()
        for text in (example.folder / "README.md").read_text().splitlines()
        if text.startswith("    {")
    ]
    assert shown
    written = [text for file in example.expected.values() for text in file.splitlines()]
    for text in shown:
        beginning = text.removesuffix("…}")
        assert any(row.startswith(beginning) for row in written), text


def test_the_live_index_writes_what_the_index_of_the_files_writes(tmp_path: Path) -> None:
    # Rows of several files come in the order of their numbers: the first row of each, then the second.
    example = EXAMPLES["inverted_index"]
    script = Path(shutil.copy(example.folder / "live.sql", tmp_path))
    files = [path.read_text().splitlines() for path in sorted(example.folder.glob("input/*"))]
    documents = [line for lines in zip_longest(*files) for line in lines if line is not None]
    run = process("run", script, "--quiet", stdin=True)
    assert run.communicate("\n".join(documents).encode()) == (b"", b"")
    written = (tmp_path / "live_changes.jsonl").read_text()
    assert written == example.expected["changes.jsonl"]


def test_the_live_index_differs_in_the_options_of_tables_only() -> None:
    folder = EXAMPLES["inverted_index"].folder
    live, query = (
        re.sub(
            r"WITH \(.*?\);",
            "",
            (folder / name).read_text().partition("\nCREATE")[2],
            flags=re.DOTALL,
        )
        for name in ("live.sql", "query.sql")
    )
    assert live == query


def totals_after_each_group(outcome: Outcome) -> list[Value]:
    """Apply the changes of balances, and add all balances up whenever a group is complete."""
    (released,) = outcome.released
    balances: dict[Value, int] = {}
    totals: list[Value] = []
    for _, group in groupby(released, key=lambda change: change[0]):
        for _, label, (account, cents) in group:
            if label in ("-U", "-D"):
                del balances[account]
            else:
                assert isinstance(cents, int)
                balances[account] = cents
        totals.append(sum(balances.values()))
    return totals


@each_policy
@each_count
@pytest.mark.parametrize("seed", SEEDS)
def test_all_balances_add_up_to_0_after_every_group(policy: str, workers: int, seed: int) -> None:
    outcome = in_memory(EXAMPLES["bank_transfers"], workers=workers, policy=policy, seed=seed)
    totals = totals_after_each_group(outcome)
    assert len(totals) > 30
    assert set(totals) == {0}


def test_without_consolidation_balances_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # The check above is worth something only if it can fail.  A sink gate that passes on whatever reaches
    # it, in the same groups and the same order, lets intermediate balances out.
    def passed_on(batch: Batch, **_: object) -> Batch:
        return batch

    monkeypatch.setattr(sink_gate, "consolidate", passed_on)
    wrong = 0
    for seed in SEEDS:
        outcome = in_memory(EXAMPLES["bank_transfers"], workers=2, policy="speculative", seed=seed)
        try:
            wrong += set(totals_after_each_group(outcome)) != {0}
        except KeyError:  # a balance was taken back that nobody had been given
            wrong += 1
    assert wrong == len(SEEDS)
