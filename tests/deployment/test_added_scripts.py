"""Scripts that are added to a running job, `fsql deploy --into`: common parts are computed once.

As in `test_changed_plans`, a position of the job is a number of lines.  The oracle is each script on its own,
in one process, over as many lines.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.client import ask_agent
from fsql.deployment.messages import Deploy
from fsql.job.compilation import compile_job
from fsql.job.plan_file import plan_file_bytes, plan_file_of
from fsql.job.script_file import read_script
from fsql.job.state_operators import state_operators
from fsql.tests.cluster.twin import for_an_hour
from fsql.tests.deployment.changed_job import COUNT_SINK, COUNTS, WORDS, net, sink, table

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cli.commands import CommandResult
    from fsql.tests.deployment.changed_job import Change

pytestmark = pytest.mark.cluster

PER_WORD = f"CREATE VIEW per_word AS SELECT word, COUNT(*) AS n {WORDS} GROUP BY word;\n"
OFTEN = PER_WORD + sink("often", "word STRING, n BIGINT")
OFTEN += "INSERT INTO often SELECT word, n FROM per_word WHERE n >= 3;\n"
"""A query that needs no state but that of the counts of the job."""
HISTOGRAM = PER_WORD + sink("histogram", "n BIGINT, words BIGINT")
HISTOGRAM += "INSERT INTO histogram SELECT n, COUNT(*) AS words FROM per_word GROUP BY n;\n"


def other_script(change: Change, script: str) -> Path:
    """Write a script to another directory; its output is there, too."""
    directory = change.directory.parent / "other"
    directory.mkdir(exist_ok=True)
    path = directory / "other.sql"
    path.write_text(table(for_an_hour(300)) + script)
    return path


def other_output(change: Change, name: str) -> list[str]:
    return (change.directory.parent / "other" / f"{name}.jsonl").read_text().splitlines()


def add(change: Change, script: str, *flags: str) -> CommandResult:
    return change.cluster.say("deploy", other_script(change, script), "--into", "job", *flags)


def test_outputs_begin_at_the_position_and_common_state_is_kept(change: Change) -> None:
    """The job is changed while it runs; then its process and the agent are killed."""
    change.start(COUNT_SINK + COUNTS)
    before = len(change.written("counts"))
    said = add(change, OFTEN, "--json")
    assert said.code == 0, said.err
    effects = json.loads(said.out)
    assert [each["effect"] for each in effects["operators"]] == ["kept"]
    assert [each["output"] for each in effects["outputs"].pop("differences")] == ["often"]
    assert effects["outputs"] == {
        "kept": ["counts"],
        "added": ["often"],
        "dropped": [],
        "inconsistent": [],
    }
    events = {
        each["event"]: each for each in map(json.loads, said.err.splitlines()) if "event" in each
    }
    assert events["script_added"] == {
        "event": "script_added",
        "job": "job",
        "added": ["view per_word", "table often", "INSERT INTO often"],
        "shared": ["table lines"],
    }
    change.cluster.wait_for_state("job", "running")
    change.cluster.kill_job("job")
    change.cluster.wait_for_state("job", "running")
    change.cluster.kill_agent()
    change.cluster.call("up", "--quiet")
    change.cluster.wait_for_state("job", "running")
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]
    assert net(other_output(change, "often")) == net(change.expected(OFTEN)["often"])
    assert before < len(change.written("counts"))


def test_a_drained_job_gives_outputs_from_exactly_its_position(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    position = change.drain()
    assert add(change, OFTEN, "--quiet").code == 0
    change.finish()
    change.lines, lines = position, change.lines
    below = change.expected(OFTEN).get("often", [])
    change.lines = lines
    often = other_output(change, "often")
    begin = net(below).total()
    assert net(often[:begin]) == net(below)
    assert often[begin:] == change.expected(OFTEN)["often"][len(below) :]
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]


def test_new_state_is_computed_from_all_input(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    refused = add(change, HISTOGRAM, "--quiet")
    assert refused.code == 1
    assert refused.err == (
        "error[FSQL-E638]: the change would lose state\n"
        "  = note: Aggregate by n; compute COUNT(*) AS words: begins empty, it is new\n"
        "  = help: recompute it from the input: --rebuild\n"
        "  = help: or continue without it: --allow-state-loss\n"
    )
    dry = add(change, HISTOGRAM, "--rebuild", "--dry-run")
    assert dry.code == 0
    assert change.cluster.call("script", "job", "--quiet").out == table(for_an_hour(300)) + (
        COUNT_SINK + COUNTS
    )
    assert add(change, HISTOGRAM, "--rebuild", "--quiet").code == 0
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]
    assert other_output(change, "histogram") == change.expected(HISTOGRAM)["histogram"]


def test_a_query_is_taken_out_again(change: Change) -> None:
    """What only the added query needed is dropped; the rest of the job does not notice."""
    change.start(COUNT_SINK + COUNTS)
    change.drain()
    assert add(change, HISTOGRAM, "--rebuild", "--quiet").code == 0
    change.cluster.wait(
        "job", lambda _: (change.directory.parent / "other" / "histogram.jsonl").exists()
    )
    position = change.drain()
    refused = change.cluster.say(
        "deploy", change.script(COUNT_SINK + COUNTS), "--name", "job", "--quiet"
    )
    assert "Aggregate by n; compute COUNT(*) AS words: dropped" in refused.err
    change.deploy(COUNT_SINK + COUNTS, "--name", "job", "--allow-state-loss")
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]
    change.lines = position
    assert other_output(change, "histogram") == change.expected(HISTOGRAM)["histogram"]


def test_the_script_of_the_job_can_be_changed_and_deployed_again(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    said = add(change, OFTEN)
    path = change.directory.parent / "other" / "other.sql"
    heading = f"{path}, compared with the script of job:\n"
    assert said.err[said.err.index(heading) :] == (
        f"{heading}"
        "  view per_word: to be added\n"
        "  table often: to be added\n"
        "  INSERT INTO often: to be added\n"
        "  table lines: as in the script of job\n"
        "job continues with the new plan\n"
    )
    shown = change.cluster.call("script", "job")
    assert shown.err == f"note: relative paths start from {change.directory}\n"
    added = OFTEN.replace("'often.", f"'{change.directory.parent}/other/often.")
    before = table(for_an_hour(300)) + COUNT_SINK + COUNTS
    assert shown.out == f"{before}\n-- of {path}\n{added}"
    fields = json.loads(change.cluster.call("script", "job", "--json").out)
    assert fields == {
        "job": "job",
        "script": shown.out,
        "directory": str(change.directory),
        "parameters": {},
        "functions": [],
    }
    again = add(change, OFTEN)
    assert again.code == 0
    assert again.err.splitlines()[-5].endswith("already, so it is not changed:")
    edited = change.directory / "job.sql"
    edited.write_text(shown.out.replace("n >= 3", "n >= 4"))
    change.cluster.call("deploy", edited, "--quiet")
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]
    explained = change.cluster.call("explain", "--stage", "tick", "--job", "job").out
    [operator] = state_operators(compile_job(read_script(str(edited), {})).job)
    assert explained.count(operator) == 2  # a stage, and a line of what a tick would choose


def test_the_command_of_the_note_is_accepted(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    path = other_script(change, "-- ${at}\n" + OFTEN.replace("n >= 3", "n >= ${least}"))
    flags = ["-D", "least=3"]
    note = change.cluster.call("deploy", path, *flags, "--dry-run").err
    [line] = [each for each in note.splitlines() if "to compute it once" in each]
    start = "  to compute it once, instead of a job of its own: "
    command = ["deploy", str(path), "--into", "job"]
    told = [*command, "-D", "least=...", "--dir", str(change.cluster.path)]
    assert line == start + shlex.join(["fsql", *told])
    said = change.cluster.say(*command, *flags, "--quiet")
    assert said.code == 0, said.err
    histogram = other_script(change, HISTOGRAM)
    note = change.cluster.call("deploy", histogram, "--dry-run").err
    assert f"--into job --dir {change.cluster.path} --rebuild\n" in note
    other = other_script(change, HISTOGRAM.replace("per_word", "counts"))
    note = change.cluster.call("deploy", other, "--dry-run").err
    assert "to compute it once: use one script for both" in note


def test_what_cannot_be_added_changes_nothing(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    said = add(change, OFTEN.replace("often", "counts"), "--quiet")
    path = change.directory.parent / "other" / "other.sql"
    line = sink("counts", "word STRING, n BIGINT").strip()
    assert said.code == 1
    assert said.err == (
        'error[FSQL-E640]: table "counts" is another one in job job\n'
        f" --> {path}:3:14\n"
        "  |\n"
        f"3 | {line}\n"
        "  |              ^^^^^^ differs in option 'path'\n"
        "  = note: the job declares it in line 2 of its script: fsql script job\n"
        "  = help: give it another name, or declare it as the job does\n"
        "  = help: deploy the script as a job of its own: without --into\n"
    )
    absent = change.cluster.say("deploy", path, "--into", "jub", "--quiet")
    assert absent.err.splitlines()[:2] == [
        'error[FSQL-E633]: no job is deployed as "jub"',
        '  = help: did you mean "job"?',
    ]
    select = add(change, PER_WORD + "SELECT * FROM per_word;\n", "--quiet")
    assert select.err.startswith("error[FSQL-E635]")
    for flags in (("--name", "x"), ("--bootstrap",)):
        both = add(change, OFTEN, *flags)
        assert both.code == 2
        assert "--into cannot be used with --name or --bootstrap" in both.err
    assert change.cluster.status("job")["state"] == "running"
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]


def test_a_file_of_the_job_is_not_written_by_another_table(change: Change) -> None:
    """It is refused before the job stops, and by a dry run."""
    change.start(COUNT_SINK + COUNTS)
    said = add(change, OFTEN.replace("often.jsonl", "../work/counts.jsonl"), "--dry-run")
    assert said.code == 1
    error = said.err[said.err.index("error") :]
    assert error.splitlines()[0] == (
        f'error[FSQL-E532]: path "{change.directory}/counts.jsonl" cannot be written:'
        ' table "often" writes it'
    )


def test_two_additions_at_the_same_time_do_not_undo_each_other(change: Change) -> None:
    """The second one has read the plan of before the first one."""
    change.start(COUNT_SINK + COUNTS)
    _, before = change.cluster.directory.find_job("job")
    assert add(change, OFTEN, "--quiet").code == 0
    compiled = compile_job(read_script(str(change.script(COUNT_SINK + COUNTS)), {}))
    plan = plan_file_bytes(plan_file_of(compiled))
    request = Deploy("job", plan.decode(), change="lose", before=before.plan)
    with pytest.raises(FsqlError) as raised:
        ask_agent(change.cluster.directory, request)
    assert [each.message for each in raised.value.diagnostics] == [
        "the plan of job job was changed by another command meanwhile"
    ]
    assert "often" in change.cluster.call("script", "job").out
