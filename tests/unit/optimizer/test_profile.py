"""Profiles of input at rest: what is counted, the plan that is chosen, and files that cannot be read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import NO_CHOICES, condition_names
from fsql.compiler.tick_plan import FoldHead
from fsql.job.compilation import compile_job
from fsql.job.first_plan import first_plan, given_profile, with_first_plan
from fsql.job.profile import profile_input
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.optimizer.collectors.profile_file import profile_bytes, read_profile
from fsql.optimizer.collectors.profile_rows import CountedRow, merge, number_of_keys
from fsql.optimizer.first_plan import choose_first
from fsql.optimizer.profile import BinRows, HotKey, OperatorRows, Profile, SideRows, SplitRows
from fsql.runtime.hashing import hash_rows

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled

ROWS, KEYS, OTHERS = 8000, 500, 2000


def write_input(directory: Path, form: str) -> list[str]:
    """Write two files of rows, of which one key has half; return all keys."""
    directory.mkdir()
    keys = ["hot" if n % 2 else f"k{n % KEYS}" for n in range(ROWS)]
    at = [f"2026-01-01T00:00:{n // 200:02}Z" for n in range(ROWS)]
    for part in range(2):
        table = pa.table({"k": keys[part::2], "n": list(range(part, ROWS, 2)), "at": at[part::2]})
        if form == "json":
            lines = [json.dumps(row) + "\n" for row in table.to_pylist()]
            (directory / f"{part}.jsonl").write_text("".join(lines))
        elif form == "csv":
            csv.write_csv(table, directory / f"{part}.csv")
        else:
            times = table["at"].cast(pa.timestamp("ms", "UTC"))
            pq.write_table(table.set_column(2, "at", times), directory / f"{part}.parquet")
    return keys


def windows_over(directory: Path, form: str = "json") -> Compiled:
    text = f"""
CREATE TABLE t (k STRING, n BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
WITH ('connector' = 'file', 'path' = '{directory}', 'format' = '{form}');
CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, COUNT(*) AS v FROM TUMBLE(t, at, INTERVAL '1' DAY)
GROUP BY k, window_start, window_end;
"""
    return compile_job(script_of_text(text, {}))


def plan_of(compiled: Compiled, workers: int) -> TickPlan:
    return choose(compiled.graph, workers=workers, fronts={0: 2})


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_rows_are_counted_where_they_go(form: str, tmp_path: Path) -> None:
    keys = write_input(tmp_path / "in", form)
    text = f"""
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'file', 'path' = '{tmp_path}/in',
    'format' = '{form}');
CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, COUNT(*) AS v FROM t WHERE n < {OTHERS} AND n <> 5 GROUP BY k;
"""
    found = profile_input(compile_job(script_of_text(text, {})))
    kept = [key for n, key in enumerate(keys) if n < OTHERS and n != 5]
    bins = hash_rows([pa.array(kept)], len(kept)) >> 20
    numbers, counts = np.unique(bins, return_counts=True)
    [side] = found.sides
    assert found.bins == tuple(
        BinRows(side.operator, 0, int(number), int(rows))
        for number, rows in zip(numbers, counts, strict=True)
    )
    assert side.rows == len(kept)
    assert side.keys == pytest.approx(len(set(kept)), rel=0.05)
    hottest = max(found.heavy, key=lambda each: each.rows)
    assert hottest.key == "hot"
    assert hottest.rows / side.rows == pytest.approx(0.5, rel=0.1)
    assert [(each.table, each.split, each.rows) for each in found.splits] == [
        ("t", 0, ROWS // 2),
        ("t", 1, ROWS // 2),
    ]
    measured = {
        each.operator.partition("#")[2]: (each.rows_in, each.rows_out)
        for each in found.operators
        if "#" in each.operator
    }
    pair = measured.pop("0&1")
    assert sorted(measured.values()) == [(ROWS, OTHERS), (ROWS, ROWS - 1)]
    assert pair == (measured["0"][1], OTHERS - 1)
    assert all(each.busy_seconds > 0 for each in found.splits)


def test_tables_that_are_not_at_rest_are_left_out() -> None:
    text = """
CREATE TABLE t (id BIGINT, line STRING) WITH ('connector' = 'words', 'rate' = '10');
SELECT line, COUNT(*) AS n FROM t GROUP BY line;
"""
    assert profile_input(compile_job(script_of_text(text, {}))) == Profile()


@pytest.mark.parametrize("keys", [1, 100, 5_000, 50_000])
def test_the_number_of_keys_is_estimated(keys: int) -> None:
    hashes = hash_rows([pa.array(range(keys))], keys)
    ranks: dict[int, int] = {}
    for each in hashes.tolist():
        rank = 21 - (each & 0xFFFFF).bit_length()
        ranks[each >> 20] = max(rank, ranks.get(each >> 20, 0))
    assert number_of_keys(list(ranks.values())) == pytest.approx(keys, rel=0.05)


def test_rows_of_counts_are_added_in_any_order() -> None:
    rows = [
        CountedRow("bin", "a", 0, 1, 5, greatest=2),
        CountedRow("key", "a", 0, 9, 5, text="y"),
        CountedRow("bin", "a", 0, 1, 2, 3, 4, greatest=7),
        CountedRow("key", "a", 0, 9, 1, text="x"),
    ]
    expected = [
        CountedRow("bin", "a", 0, 1, 7, 3, 4, 7),
        CountedRow("key", "a", 0, 9, 6, text="x"),
    ]
    assert merge(rows) == merge(reversed(rows)) == expected


def profile_for(plan: TickPlan, rows: dict[int, int], hot: int = 0) -> Profile:
    """Return a profile of the fold of a plan: the rows of its bins, of which a key in bin 0 has some."""
    operator = fold_of(plan)
    heavy = (HotKey(operator, 0, 7, "a", hot, 0),) if hot else ()
    return Profile(
        tuple(BinRows(operator, 0, number, each) for number, each in sorted(rows.items())),
        heavy,
        (SideRows(operator, 0, sum(rows.values()), 3),),
        (),
        (SplitRows("t", 0, 1000, 1000, 0.5),),
    )


def fold_of(plan: TickPlan) -> str:
    head = plan.stages[1].head
    assert isinstance(head, FoldHead)
    return head.operator


def test_bins_are_levelled_by_their_rows(tmp_path: Path) -> None:
    plan = plan_of(windows_over(tmp_path), 2)
    choice = choose_first(plan, profile_for(plan, {0: 40, 1: 30, 2: 30, BINS - 1: 1}))
    owners = list(OwnerMap.of_equal_ranges(2).owners)
    owners[0] = 1
    assert choice.owners == Owners(OwnerMap(tuple(owners), 2))
    assert choice.choices == NO_CHOICES
    assert choice.lines[0] == (
        "owners: 1 bin moves; the busiest worker gets 1.98 times the mean of the rows, and would get"
        " 1.19 times after 1 bin has moved; no estimate of what a row takes"
    )


def test_rows_of_a_hot_key_are_pre_aggregated_and_do_not_count_for_owners(tmp_path: Path) -> None:
    plan = plan_of(windows_over(tmp_path), 2)
    choice = choose_first(plan, profile_for(plan, {0: 600, BINS - 1: 400}, hot=590))
    assert choice.choices.pre_aggregations == ((fold_of(plan), 256),)
    assert choice.owners is None  # one bin each
    assert choice.lines[1].endswith(
        "key 'a' has 59% of the rows, so its worker gets 1.18 times the mean or more;"
        " no estimate of what the fold takes"
    )


def test_nothing_changes_without_an_estimate(tmp_path: Path) -> None:
    compiled = windows_over(tmp_path)
    two, one = plan_of(compiled, 2), plan_of(compiled, 1)
    choice = choose_first(two, Profile())
    assert not choice.is_change
    assert choice.lines[0] == "owners: stay; no estimate of the rows of any fold"
    assert choose_first(one, Profile()).lines[0] == "owners: stay; there is one worker"


def test_bins_stay_of_a_fold_that_gets_rows_of_another_fold(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(json.dumps({"k": f"k{min(n % 41, 7)}", "n": 1}) + "\n" for n in range(400))
    )
    table = f"CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'file', 'path' = '{path}');"
    text = f"""{table}
CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, MAX(v) AS v FROM
(SELECT k, n, COUNT(*) AS v FROM t GROUP BY k, n) GROUP BY k;
"""
    compiled = compile_job(script_of_text(text, {}))
    plan = plan_of(compiled, 2)
    first, second = [each.head.operator for each in plan.stages if isinstance(each.head, FoldHead)]
    choice = choose_first(plan, profile_input(compiled))
    assert choice.owners is not None
    assert choice.owners.of(second) == OwnerMap.of_equal_ranges(2)
    assert choice.owners.of(first) != OwnerMap.of_equal_ranges(2)
    assert choice.lines[0].endswith(f"no estimate of what a row takes, nor of the rows of {second}")


def test_conditions_are_ordered_by_what_they_take_and_drop(tmp_path: Path) -> None:
    text = f"""
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'file', 'path' = '{tmp_path}/t.jsonl');
CREATE TABLE o (k STRING) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k FROM t WHERE REGEXP_LIKE(k, 'a.*b') AND n < 5;
"""
    plan = choose(compile_job(script_of_text(text, {})).graph)
    names = condition_names(plan.stages[0], 0)
    for cheap, costly in (0, 1), (1, 0):
        rows = (
            OperatorRows(names[cheap], 1000, 10, 1e-5),
            OperatorRows(names[costly], 1000, 500, 1e-2),
        )
        profile = Profile(operators=rows, splits=(SplitRows("t", 0, 1000, 1000, 0.02),))
        [order] = choose_first(plan, profile).choices.filters
        assert order.groups == ((cheap,), (costly,))


def test_a_plan_has_what_was_chosen_as_long_as_it_fits(tmp_path: Path) -> None:
    compiled = windows_over(tmp_path)
    plan = plan_of(compiled, 2)
    path = tmp_path / "profile"
    path.write_bytes(profile_bytes(profile_for(plan, {0: 40, 1: 30, 2: 30, BINS - 1: 1})))
    first = first_plan(plan, "digest", given_profile(path))
    begun = with_first_plan(plan, "digest", first)
    assert begun.assignment.owners.every.owners[:3] == (1, 0, 0)
    assert not any("ranges of equal size" in str(each) for each in begun.reasons)
    assert with_first_plan(plan, "another", first) == plan
    more = plan_of(compiled, 3)
    assert with_first_plan(more, "digest", first).assignment == more.assignment


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-9], "it is damaged"),
        (lambda data: data.replace(b'"profile":1', b'"profile":9'), "its version is 9"),
        (lambda _: b"", "Input data was truncated"),
        (lambda _: b"\xff\n[]", "malformed"),
        (lambda _: profile_bytes(Profile((BinRows("a", 0, BINS, 1),))), "invalid numbers"),
        (
            lambda _: profile_bytes(Profile(splits=(SplitRows("a", 0, 1, 1, -1.0),))),
            "invalid numbers",
        ),
        (None, "No such file or directory"),
    ],
)
def test_a_damaged_profile_is_left_out(damage: object, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "profile"
    if callable(damage):
        path.write_bytes(damage(profile_bytes(Profile())))
    given = given_profile(path)
    assert given.profile is None
    assert str(given.problem).startswith(f'profile "{path}" is ignored: ')
    assert reason in str(given.problem)
    plan = plan_of(windows_over(tmp_path), 2)
    begun = with_first_plan(plan, "", first_plan(plan, "", given))
    assert begun.reasons == (*plan.reasons, given.problem)
    assert begun.stages == plan.stages


def test_a_profile_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_input(tmp_path / "in", "json")
    found = profile_input(windows_over(tmp_path / "in"))
    (tmp_path / "profile").write_bytes(profile_bytes(found))
    assert read_profile(tmp_path / "profile") == found
