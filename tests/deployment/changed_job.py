"""A deployed job over generated lines of words, which is changed while it runs."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fsql.deployment.processes import started_at
from fsql.job.compilation import compile_job
from fsql.job.graph_diff import StateChange
from fsql.job.graph_tick import change_plan, frozen_ordinals, with_ordinals
from fsql.job.script_file import read_script
from fsql.job.state_directory import read_description
from fsql.tests.cluster.twin import for_an_hour
from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster


def table(limit: str) -> str:
    return (
        "CREATE TABLE lines (id BIGINT, line STRING) WITH ('connector' = 'words', 'seed' = '17',"
        f" 'vocabulary' = '50', 'words_per_line' = '3', {limit});\n"
    )


def sink(name: str, columns: str) -> str:
    return (
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'file', 'path' = '{name}.jsonl');\n"
    )


WORDS = "FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word)"
COUNTS = f"INSERT INTO counts SELECT word, COUNT(*) AS n {WORDS} GROUP BY word;\n"
LENGTHS = f"INSERT INTO counts SELECT word, SUM(CHAR_LENGTH(word)) AS n {WORDS} GROUP BY word;\n"
COUNT_SINK = sink("counts", "word STRING, n BIGINT")
COPY_SINK = sink("copies", "line STRING")
UPPER = "INSERT INTO copies SELECT UPPER(line) AS line FROM lines;\n"
LOWER = "INSERT INTO copies SELECT LOWER(line) AS line FROM lines;\n"


@dataclass
class Change:
    """A job that is changed while it runs, and what comes of it."""

    cluster: TestCluster
    directory: Path
    lines: int = 0
    """How many lines the job has read; set when it is drained."""

    def start(self, script: str, workers: int = 2) -> None:
        self.directory.mkdir()
        self.deploy(script, "--snapshot-ms", "300", "-w", str(workers))
        self.cluster.wait_for_snapshot("job")

    def deploy(self, script: str, *flags: str) -> None:
        self.cluster.call("deploy", self.script(script), "--quiet", *flags)

    def dry_run(self, script: str, *flags: str) -> dict[str, Any]:
        """Return what a dry run says about a script."""
        said = self.cluster.call("deploy", self.script(script), "--dry-run", "--json", *flags)
        found: dict[str, Any] = json.loads(said.out)
        return found

    def script(self, script: str) -> Path:
        path = self.directory / "job.sql"
        path.write_text(table(for_an_hour(300)) + script)
        return path

    def was_prepared(self) -> bool:
        """Return whether the process of the job waited for it when the job stopped."""
        [job] = self.cluster.directory.jobs()
        runner = job.runner()
        assert runner
        log = self.cluster.call("logs", "job", "--json").out.splitlines()
        ended = [each["ts"] for each in map(json.loads, log) if each["event"] == "ended"]
        began = started_at(runner)
        assert began is not None
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK")
        return time.time() - age < ended[-1]

    def drain(self) -> int:
        return self.cluster.drain("job")

    def written(self, name: str) -> list[str]:
        path = self.directory / f"{name}.jsonl"
        return path.read_text().splitlines() if path.exists() else []

    def finish(self, name: str = "counts") -> None:
        """End the job when it has written more rows."""
        self.lines = self.cluster.drain_later("job", self.directory / f"{name}.jsonl")

    @property
    def state(self) -> Path:
        [job] = self.cluster.directory.jobs()
        return job.state

    def convert(self, script: str) -> None:
        """Change the plan of a drained job, without starting it."""
        begun = read_description(self.state)
        assert begun is not None
        compiled = compile_job(read_script(str(self.script(script)), {}))
        compiled = with_ordinals(compiled, frozen_ordinals(begun))
        new = replace(begun, script_text=compiled.script.source.text)
        change_plan(self.state, begun, compiled, new, StateChange.KEEP)

    def expected(self, script: str) -> dict[str, list[str]]:
        """Return what a script writes in one process for as many lines: the oracle."""
        directory = self.directory.parent / "oracle"
        directory.mkdir(exist_ok=True)
        for path in directory.glob("*.jsonl"):
            path.unlink()
        (directory / "job.sql").write_text(table(f"'count' = '{self.lines}'") + script)
        run_command(["run", "--quiet", str(directory / "job.sql")], check=True)
        return {path.stem: path.read_text().splitlines() for path in directory.glob("*.jsonl")}


def net(changes: Iterable[str]) -> Counter[str]:
    """Return the rows that lines of changes add up to; each removed row must have been added before."""
    rows: Counter[str] = Counter()
    for line in changes:
        row = json.loads(line)
        operation = row.pop("op")
        text = json.dumps({name: value for name, value in sorted(row.items()) if value is not None})
        rows[text] += 1 if operation in {"+I", "+U"} else -1
        assert rows[text] >= 0, line
    return +rows
