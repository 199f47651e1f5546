"""`fsql explain --stage tick` of a job: its plan, what the last tick has changed, and what the next would."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pytest

from fsql.compiler.explain.choices import conjunct_texts
from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import PlanChoices, choices_of, condition_names
from fsql.compiler.tick_plan import Policy
from fsql.job.description import JOB as FILE_OF_JOB
from fsql.job.plan_in_force import situation_of
from fsql.job.ticks import read_ticks
from fsql.optimizer.collectors.bin_history import read_bin_history
from fsql.optimizer.replay import PastTick
from fsql.runtime.cluster.ticks.events import RecordStatistics
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.coordination.ticks import TickProposal, TickRecord, propose_tick, put_record
from fsql.runtime.drivers.statistics_files import StatisticsFiles
from fsql.runtime.state.local_directory import LocalDirectory
from fsql.tests.cli.commands import fsql
from fsql.tests.cli.test_choices_file import JOB, OPERATOR, PLAN

if TYPE_CHECKING:
    from pathlib import Path

PROPOSED = 1_700_000_000.0
CONDITIONS = condition_names(PLAN.stages[0], 0)
RUN = CONDITIONS[0].partition("#")[0]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / FILE_OF_JOB).write_bytes(msgspec.json.encode(JOB))
    return tmp_path


def take_ticks(state: Path, *proposals: TickProposal) -> None:
    """Record ticks as taken."""
    with closing(EmbeddedCoordination(state / FILE, create=True)) as coordination:
        session = coordination.open_session(10.0)
        for each in proposals:
            number = propose_tick(coordination, session, each)
            taken = TickRecord(msgspec.structs.replace(each, tick=number), (1, 0), 0.5, 1)
            put_record(coordination, session, taken)
        coordination.close_session(session)


def record_conditions(state: Path) -> None:
    """Write statistics, after the ticks: b > 2 is slow, and drops nothing."""
    costs = [("b > 2", 900_000, 1.0), ("a > 3", 3_000, 0.5), ("a < 9", 3_000, 0.5)]
    names = dict(zip(conjunct_texts(PLAN, 0, 0), CONDITIONS, strict=True))
    tables = {
        "operators": [
            ("read", 0, 32_000, 32_000, 1, 1),
            *((names[text], 1, 1000, round(1000 * true), ns, ns) for text, ns, true in costs),
        ]
    }
    files = StatisticsFiles(LocalDirectory(state), JOB.tick_seconds, lambda: PROPOSED + 100.0)
    files.write(RecordStatistics("job", 1, 0, 0.1, tables, ()), files.now())


def sections(state: Path) -> str:
    """Return what is shown below the plan."""
    said = fsql("explain", "--state", state)
    assert (said.code, said.err) == (0, "")
    return said.out[said.out.index("reasons:") :]


def test_without_statistics_there_is_no_estimate(state: Path) -> None:
    assert sections(state) == (
        "reasons:\n"
        "  stage 1: ordered, rows of 2 fronts interleave: waiting costs less than repairs\n"
        "  hash bins: ranges of equal size for 2, no estimate of their load\n"
        "difference to the plan before: none, no tick was taken\n"
        "the next tick, by the newest statistics (built-in, newest):\n"
        "  owners: stay; no estimate, 0 of 2 intervals since the last tick are measured\n"
        f"  {OPERATOR}: stays ordered; no estimate of repairs, 0 of 2 intervals since the last tick are"
        " measured\n"
        f"  {RUN}: stay; no estimate of {', '.join(CONDITIONS)}\n"
        "  rows of t: stay; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  linger of t: none, stays; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  coordinator: no record of its process; taken to be that of worker 0, as for live input\n"
        "difference that it would make:\n"
        "  none\n"
    )


def test_the_last_tick_and_the_next_one(state: Path) -> None:
    owners = list(OwnerMap.of_equal_ranges(2).owners)
    speculative = PlanChoices(((OPERATOR, Policy.SPECULATIVE),), choices_of(PLAN).filters)
    first = TickProposal(0, JOB.plan, 2, ((0, 0, 4096),), "by hand", PROPOSED, 2, speculative)
    owners[:20:2] = [1] * 10
    second = msgspec.structs.replace(
        first, owners=OwnerMap(tuple(owners), 2).ranges, reason="", proposed_at=PROPOSED + 50.0
    )
    take_ticks(state, first, second)
    record_conditions(state)
    assert sections(state) == (
        "reasons:\n"
        "  stage 1: speculative, changed by a tick\n"
        "difference to the plan before tick 2:\n"
        "  owners: worker 1, was 0, of 2,058 bins, 50.2%: [0, 1), [2, 3), [4, 5), [6, 7), [8, 9),"
        " [10, 11), [12, 13), [14, 15) and 3 more ranges\n"
        "  reason: none was given\n"
        "the next tick, by the newest statistics (built-in, newest):\n"
        "  owners: stay; no estimate, 0 of 2 intervals since the last tick are measured\n"
        f"  {OPERATOR}: stays speculative; no estimate of repairs\n"
        f"  {RUN}: stay; no estimate, 0 of 2 intervals are measured\n"
        "  rows of t: stay; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  linger of t: none, stays; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  coordinator: no record of its process; taken to be that of worker 0, as for live input\n"
        "difference that it would make:\n"
        "  none\n"
    )


@pytest.mark.parametrize(
    ("hosted", "place"), [(True, "in the process of worker 0"), (False, "in a process of its own")]
)
def test_where_the_coordinator_is(state: Path, *, hosted: bool, place: str) -> None:
    job = msgspec.structs.replace(JOB, hosted=hosted)
    (state / FILE_OF_JOB).write_bytes(msgspec.json.encode(job))
    assert f"\n  coordinator: {place}\ndifference that it would make:\n" in sections(state)


def test_json_has_the_same(state: Path) -> None:
    ordered = PlanChoices(((OPERATOR, Policy.SPECULATIVE),))
    take_ticks(state, TickProposal(0, JOB.plan, 2, (), "by hand", PROPOSED, 0, ordered))
    said = fsql("explain", "--stage", "tick", "--state", state, "--json")
    assert (said.code, said.err) == (0, "")
    shown = json.loads(said.out)
    assert shown["stages"][1]["head"]["policy"] == "speculative"
    assert shown["last_tick"] == {
        "tick": 1,
        "reason": "by hand",
        "difference": [f"policy of {OPERATOR}: speculative, was ordered"],
    }
    assert list(shown["next_tick"]) == ["reasons", "difference", "problems", "statistics"]


def test_damaged_statistics_are_named(state: Path) -> None:
    record_conditions(state)
    [path] = (state / "statistics" / "operators").iterdir()
    path.write_bytes(b"not Parquet")
    assert f'  warning: statistics: "{path}" is skipped: ' in sections(state)


@pytest.mark.parametrize(
    ("flags", "fault"),
    [
        (("job.sql", "--stage", "tick"), "--job and --state are instead of SCRIPT and --execute"),
        (("--stage", "graph"), "--job and --state require --stage tick"),
        (("--stage", "tick", "-w", "3"), "--workers is for scripts, not for --job and --state"),
        (("--stage", "tick", "-D", "a=b"), "--define is for scripts, not for --job and --state"),
        (("--stage", "tick", "--format", "svg"), "stage tick is available as text and json"),
        (("--stage", "tick", "--job", "a"), "name either a deployed job or a state directory"),
    ],
)
def test_flags_that_do_not_fit(state: Path, flags: tuple[str, ...], fault: str) -> None:
    said = fsql("explain", *flags, "--state", state)
    assert (said.code, said.out) == (2, "")
    assert fault in said.err


def test_a_directory_without_a_job(tmp_path: Path) -> None:
    said = fsql("explain", "--stage", "tick", "--state", tmp_path)
    expected = (
        f'error[FSQL-E614]: directory "{tmp_path}" holds no state of a job\n'
        "  = help: give the state directory of a job that has begun to run\n"
    )
    of_a_script = "  = help: for the plan of a script: fsql explain SCRIPT --stage tick\n"
    assert said.err == expected + of_a_script
    for command in (("tick", "plan"), ("tick", "list"), ("stats",)):
        assert fsql(*command, "--state", tmp_path).err == expected


def test_the_ticks_of_the_history_are_those_with_the_same_workers(state: Path) -> None:
    """The last one was 10 s ago, in intervals of 10 s; the one before had other workers after it."""
    equal = PLAN.assignment.owners
    one = TickProposal(0, JOB.plan, 2, ((0, 0, 4096),), "by hand", PROPOSED, 1)
    two = msgspec.structs.replace(
        one, owners=equal.ranges, workers_after=2, proposed_at=PROPOSED + 20
    )
    three = msgspec.structs.replace(two, owners=((1, 0, 4096),), proposed_at=PROPOSED + 40)
    take_ticks(state, one, two, three)
    now, history = PROPOSED + 55.0, read_bin_history(state)
    records = read_ticks(state)[1]
    situation = situation_of(PLAN, JOB, records, history, hosted=False, now=now)
    assert situation.past == (PastTick(1, equal),)
    assert situation.first == equal
    assert situation.seconds == JOB.tick_seconds
    earlier = situation_of(PLAN, JOB, records[2:], history, hosted=False, now=now)
    assert (earlier.past, earlier.first) == ((), Owners.of_equal_ranges(1))
