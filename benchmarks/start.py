"""The first second: the processor time of short commands, and what they import."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.process_times import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUERY: Final = "SELECT a, b FROM 'rows.jsonl' WHERE a > 8"
_DECLARED: Final = """
CREATE TABLE rows (a BIGINT, b STRING) WITH ('connector' = 'file', 'path' = 'rows.jsonl');
SELECT a, b FROM rows WHERE a > 8;
"""
_PLAIN: Final = """
import json, sqlite3
db = sqlite3.connect(':memory:')
db.execute('create table rows (a integer, b text)')
with open('rows.jsonl') as file:
    db.executemany('insert into rows values (:a, :b)', map(json.loads, file))
for row in db.execute('select a, b from rows where a > 8'):
    print(json.dumps(row))
"""
_IMPORT: Final = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s*(\S+)")


def measure_start(rounds: int) -> Iterator[dict[str, Any]]:
    """Yield the median processor time of each command over ten lines, and then what each imports.

    `ratio` is that time by the one of the same query in SQLite from Python.  The commands run by turns.
    """
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield from _measure(rounds)
        finally:
            os.chdir(here)


def _measure(rounds: int) -> Iterator[dict[str, Any]]:
    lines = [json.dumps({"a": number, "b": f"x{number}"}) for number in range(1, 11)]
    Path("rows.jsonl").write_text("\n".join(lines) + "\n")
    Path("declared.sql").write_text(_DECLARED)
    fsql = ("-m", "fsql")
    commands = {
        "sqlite": ("-c", _PLAIN),
        "help": (*fsql, "--help"),
        "check": (*fsql, "check", "declared.sql"),
        "run": (*fsql, "run", "--quiet", "-e", _QUERY),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds):
        for name in list(commands)[:: 1 if turn % 2 else -1]:
            times[name].append(run_command([sys.executable, *commands[name]]).processor_seconds)
    base = statistics.median(times["sqlite"])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        yield {
            "benchmark": f"start {name}",
            "processor_seconds": round(median, 3),
            "least": round(min(seconds), 3),
            "ratio": round(median / base, 1),
        }
    for name in ("help", "check", "run"):
        yield {"benchmark": f"imports {name}", **_imports(commands[name])}


def _imports(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Return how many modules a command imports, and the milliseconds of the packages that take longest."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    spent: Counter[str] = Counter()
    modules = [(name, int(us)) for us, name in _IMPORT.findall(done.stderr)]
    for name, us in modules:
        depth = 3 if name.startswith("fsql.") else 1
        spent[".".join(name.split(".")[:depth])] += us
    own = sum(name.split(".")[0] == "fsql" for name, _ in modules)
    return {
        "modules": {"fsql": own, "others": len(modules) - own},
        "import_ms": {name: round(us / 1000, 1) for name, us in spent.most_common(8)},
    }
