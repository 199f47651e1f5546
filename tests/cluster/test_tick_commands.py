"""Ticks of runs on processes, proposed by commands: output does not change, whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.job.owners_file import OwnersFile, read_owners
from fsql.tests.cli.commands import CommandResult, fsql
from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import (
    OUTPUTS,
    Twin,
    difference,
    freeze,
    has_open_store,
    wait_until,
)
from fsql.tests.command_server import Command, run_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.cluster

SECONDS = "300"
EQUAL = [[0, 0, 2048], [1, 2048, 4096]]
SCRIPT = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'lines.txt', 'format' = 'text');
INSERT INTO counts
SELECT SUBSTR(word, 1, 5) AS word, MAX(n) AS n FROM
(SELECT word, COUNT(*) AS n FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word)
WHERE word <> 'word7' AND word <> 'word8' GROUP BY word)
GROUP BY SUBSTR(word, 1, 5);
INSERT INTO copies SELECT UPPER(line) AS line FROM lines;
"""


class LiveTwin(Twin):
    """A run that reads lines from standard input, as long as the test goes on, and then ends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.directory / "job.sql").write_text(SCRIPT)
        self._fed: list[str] = []
        self._over = threading.Event()

    def feed(self) -> None:
        """Write lines until `stop_feeding`, about 50 a second."""
        assert self.process is not None
        assert self.process.stdin is not None
        random = Random(17)
        while not self._over.wait(0.02):
            words = [f"word{random.randrange(200)}" for _ in range(4)]
            self._fed.append(" ".join(words) + "\n")
            self.process.stdin.write(self._fed[-1])
            self.process.stdin.flush()
        self.process.stdin.close()

    def start(self, workers: int, *flags: str) -> None:
        """Start the run, and feed it."""
        command = ["run", str(self.directory / "job.sql"), "--workers", str(workers)]
        with (self.directory / "errors").open("a") as errors:
            self.process = Command(
                [*command, *self.flags, *flags, "--state", str(self.state)],
                stdin=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._feeder = threading.Thread(target=self.feed)
        self._feeder.start()

    def stop_feeding(self) -> None:
        """End the input."""
        self._over.set()
        self._feeder.join()

    def shut_down(self) -> None:
        self.stop_feeding()
        super().shut_down()

    def right(self, directory: Path) -> dict[str, bytes]:
        """Return what one process writes that reads the same lines."""
        path = directory / "job.sql"
        path.write_text(SCRIPT)
        command = ["run", "--quiet", str(path)]
        run_command(command, input="".join(self._fed), text=True, check=True)
        return {name: (directory / name).read_bytes() for name in OUTPUTS}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveTwin]:
    twin = LiveTwin(tmp_path / "live", 0, 0)
    yield twin
    twin.shut_down()


def propose(twin: Twin, *flags: str | Path) -> CommandResult:
    return fsql("tick", "propose", "--state", twin.state, *flags)


def take(twin: Twin, *flags: str | Path) -> dict[str, Any]:
    """Propose a tick, which must be taken."""
    said = propose(twin, *flags, "--wait", "--seconds", SECONDS, "--json")
    assert said.code == 0, (said.err, twin.errors())
    taken: dict[str, Any] = json.loads(said.out)
    return taken


def ticks(twin: Twin) -> list[dict[str, Any]]:
    said = fsql("tick", "list", "--state", twin.state, "--json")
    assert said.code == 0, said.err
    listed: list[dict[str, Any]] = json.loads(said.out)["ticks"]
    return listed


def edited_plan(twin: Twin, path: Path) -> dict[str, Any]:
    """Write the plan of a run with another policy and another order of filters, and return it."""
    said = fsql("tick", "plan", "--state", twin.state, "-o", path)
    assert said.code == 0, said.err
    plan: dict[str, Any] = json.loads(path.read_text())
    plan["folds"][0]["policy"] = "ordered"
    conditions = [each for group in plan["filters"][0]["filters"] for each in group]
    plan["filters"][0]["filters"] = [[each] for each in reversed(conditions)]
    path.write_text(json.dumps(plan))
    return plan


def start(twin: Twin) -> None:
    twin.start(2, "--no-contract")  # no ticks but those of the test
    wait_until(twin.advances, "output")


def test_output_does_not_change(live: LiveTwin, tmp_path: Path) -> None:
    twin = live
    bins = tmp_path / "bins"
    bins.write_text("1 0 1000  # was of worker 0\n\n0 1000 4096\n")
    start(twin)
    assert take(twin, "--bins", bins, "--reason", "try")["moved_bins"] == 1000 + 2048
    plan = edited_plan(twin, tmp_path / "plan.json")
    second = plan["folds"][1]["operator"]
    bins.write_text(f"exchange {second}\n1 0 4096\n")
    taken = take(twin, "--bins", bins)
    assert (taken["moved_bins"], taken["exchanges"]) == (3096, {second: [[1, 0, 4096]]})
    refused = propose(twin, "--bins", bins, "--workers", "3").err.splitlines()[0]
    assert refused == (
        f'error[FSQL-E651]: "{bins}": with --workers, the file must have the owners of all exchanges'
    )
    conditions = ["(word <> 'word8')", "(word <> 'word7')"]
    changes = take(twin, "--plan", tmp_path / "plan.json")["changes"]
    assert changes == [
        f"policy of {plan['folds'][0]['operator']}: ordered, was speculative",
        f"filters of stage 0: {', then '.join(conditions)}; was {' AND '.join(conditions[::-1])}",
    ]
    assert propose(twin, "--to", "1").out == "tick 4 is proposed\n"
    os.kill(twin.worker_with_store(), signal.SIGKILL)
    wait_until(lambda: ticks(twin)[0]["state"] == "taken", "a tick during which a worker ends")
    assert propose(twin, "--equal").out == "tick 5 is proposed\n"
    [coordinator] = twin.pids("coordinator")
    os.kill(coordinator, signal.SIGKILL)
    wait_until(lambda: ticks(twin)[0]["state"] == "taken", "a tick that another coordinator takes")
    taken = take(twin, "--readers", "1")
    moved = 'worker 1 reads split 0 of table "lines", before worker 0'
    assert (taken["moved_bins"], taken["readers"], taken["changes"]) == (0, [1], [moved])
    assert json.loads(fsql("tick", "plan", "--state", twin.state).out) == plan
    twin.stop_feeding()
    assert twin.ended() == 0, twin.errors()
    (tmp_path / "right").mkdir()
    assert difference(twin.written(), twin.right(tmp_path / "right")) == ""
    listed = ticks(twin)
    assert [(each["tick"], each["state"], each["reason"]) for each in listed] == [
        (6, "taken", ""),
        (5, "taken", ""),
        (4, "taken", ""),
        (3, "taken", ""),
        (2, "taken", ""),
        (1, "taken", "try"),
    ]
    assert [each["owners"] for each in listed] == [
        EQUAL,
        EQUAL,
        [[1, 0, 4096]],
        *[[[1, 0, 1000], [0, 1000, 4096]]] * 3,
    ]
    assert [list(each["exchanges"]) for each in listed] == [[], [], [], [second], [second], []]
    shown = fsql("tick", "show", "1", "--state", twin.state, "--json")
    assert json.loads(shown.out) == listed[5]
    said = fsql("tick", "show", "2", "--state", twin.state)
    assert said.out.endswith(
        f"owners (worker, first bin, end):\n1 0 1000\n0 1000 4096\nexchange {second}\n1 0 4096\n"
    )


def test_workers_join_and_leave_while_rows_flow(live: LiveTwin, tmp_path: Path) -> None:
    twin = live
    twin.start(1, "--no-contract")
    wait_until(twin.advances, "output")
    assert take(twin, "--workers", "2")["owners"] == EQUAL
    os.kill(twin.worker_with_store(), signal.SIGKILL)
    wait_until(twin.advances, "output")
    assert take(twin, "--workers", "1")["moved_bins"] == 2048
    assert take(twin, "--workers", "2")["moved_bins"] == 2048
    assert take(twin, "--workers", "1")["workers"] == 1
    # The worker that is left is in the process of the coordinator.
    wait_until(lambda: not any(has_open_store(pid) for pid in twin.pids("worker")), "an end")
    wait_until(twin.advances, "output")
    twin.stop_feeding()
    assert twin.ended() == 0, twin.errors()
    (tmp_path / "right").mkdir()
    assert difference(twin.written(), twin.right(tmp_path / "right")) == ""


def test_the_layout_of_a_tick_outlives_the_run(new_twin: Callable[[int], Twin]) -> None:
    twin = new_twin(ENDLESS)
    start(twin)
    assert take(twin, "--to", "1")["moved_bins"] == 2048
    twin.end(signal.SIGINT)
    start(twin)
    assert take(twin, "--to", "1")["moved_bins"] == 0


def test_proposals_that_are_refused(new_twin: Callable[[int], Twin], tmp_path: Path) -> None:
    twin = new_twin(ENDLESS)
    start(twin)
    twin.freeze_coordinator()
    assert twin.process is not None
    freeze(twin.process.pid, twin.state)  # it would kill a coordinator that is silent for 10 s
    assert propose(twin, "--to", "1", "--reason", "stopped").code == 0
    for flags, message in (
        (("--equal",), "error[FSQL-E652]: tick 1 has not ended"),
        (("--to", "2"), "error[FSQL-E651]: there is no worker 2: the job has workers 0 to 1"),
        (
            ("--readers", "2"),
            "error[FSQL-E651]: --readers: there is no worker 2: the job has workers 0 to 1",
        ),
        (
            ("--readers", "0,1"),
            "error[FSQL-E651]: --readers has 2, and the input of the job has 1 split",
        ),
        (
            ("--bins", tmp_path / "none"),
            f'error[FSQL-E651]: "{tmp_path / "none"}" cannot be read: No such file or directory',
        ),
    ):
        said = propose(twin, *flags)
        assert (said.code, said.out, said.err.splitlines()[0]) == (1, "", message)
    [listed] = ticks(twin)
    assert (listed["state"], listed["reason"], listed["position"]) == ("proposed", "stopped", None)
    said = fsql("tick", "show", "2", "--state", twin.state)
    assert said.err.splitlines()[0] == "error[FSQL-E653]: the job has no tick 2"
    twin.process.send_signal(signal.SIGCONT)
    twin.end(signal.SIGINT)
    said = propose(twin, "--equal")
    assert said.err.splitlines()[:2] == [
        f'error[FSQL-E637]: no job runs in the state directory "{twin.state}"',
        f"  = help: Start it with `fsql run --state {twin.state} ...`.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the bins from 0 on, below 4,096, have no worker"),
        ("0 0 4096\n0 4096 4097", ", line 2: the range must end above 4,096, at 4,096 at most"),
        (
            "0 0 2048\n1 2049 4096",
            ", line 2: the range begins at bin 2,049, and must begin at 2,048",
        ),
        ("0 0 0", ", line 1: the range must end above 0, at 4,096 at most"),
        ("2 0 4096", ", line 1: there is no worker 2: the job has workers 0 to 1"),
        ("0 -1 4096", ", line 1: a line must have three numbers, WORKER FIRST END"),
        ("0 0", ", line 1: a line must have three numbers, WORKER FIRST END"),
        ("0 0 99999999", ", line 1: a number is too large"),
        ("\xff\x00", ", line 1: a line must have three numbers, WORKER FIRST END"),
        ("# " + "x" * (1 << 23), " is larger than 8,388,608 bytes"),
        ("exchange a\n0 0 9\n", ": the bins of exchange a from 9 on, below 4,096, have no worker"),
        ("0 0 9\nexchange a\n0 0 4096", ": the bins from 9 on, below 4,096, have no worker"),
        ("exchange\n0 0 4096", ', line 1: "exchange" must be followed by one name'),
        ("exchange a\n0 0 4096\nexchange a", ", line 3: exchange a is named twice"),
        ("exchange b\n0 0 4096", ": the job has no exchange b; it has: a"),
    ],
)
def test_owner_maps_that_are_invalid(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bins"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(FsqlError) as raised:
        read_owners(path, 2, lambda: ["a"])
    assert [each.message for each in raised.value.diagnostics] == [f'"{path}"{message}']


def test_owner_maps_of_exchanges(tmp_path: Path) -> None:
    path = tmp_path / "bins"
    path.write_text("exchange a  # only this one\n1 0 4096")
    assert read_owners(path, 2, lambda: ["a"]) == OwnersFile(None, {"a": OwnerMap((1,) * BINS, 2)})
    path.write_text("0 0 4096\nexchange a\n1 0 4096")
    every = OwnerMap((0,) * BINS, 2)
    assert read_owners(path, 2, lambda: ["a"]) == OwnersFile(every, {"a": OwnerMap((1,) * BINS, 2)})


def test_readers_are_numbers(tmp_path: Path) -> None:
    for text in ("", "0,", "-1", "0;1", "\u0661"):
        said = fsql("tick", "propose", "--state", tmp_path, "--readers", text)
        message = f"Error: Invalid value for '--readers': \"{text}\" is not of the form 0,1,1"
        assert (said.code, said.err.splitlines()[-1]) == (2, message)


def test_one_way_to_give_an_owner_map_is_needed(tmp_path: Path) -> None:
    for flags in ((), ("--equal", "--to", "1")):
        said = fsql("tick", "propose", "--state", tmp_path, *flags)
        assert (said.code, said.err.splitlines()[-1]) == (
            2,
            "Error: give --plan, --readers, --workers, or one of --bins, --equal and --to",
        )


def test_a_job_and_the_number_of_a_tick_are_given_in_either_order(tmp_path: Path) -> None:
    place = ("--dir", tmp_path)
    said = fsql("tick", "show", "orders", "7", *place)
    assert said.err.splitlines()[0] == 'error[FSQL-E633]: no job is deployed as "orders"'
    assert fsql("tick", "show", "7", "orders", *place) == said
    assert 'not "orders x"' in fsql("tick", "show", "orders", "x", *place).err
    assert 'not "0"' in fsql("tick", "show", "0", *place).err
