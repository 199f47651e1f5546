"""The log of a result: what is stored survives torn writes, other epochs and rewriting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.results import store as store_module
from fsql.connectors.results.log import segments
from fsql.job.results.job_results import JobResults
from fsql.job.results.position import position_of, text_of
from fsql.job.results.subscriptions import Subscription
from fsql.runtime.batch import END, START, Root
from fsql.runtime.sink import SinkLostError
from fsql.tests.serving.written_log import Log

if TYPE_CHECKING:
    from pathlib import Path


def rows_of(results: JobResults, table: str = "t") -> dict[str, int]:
    keys, values = results.all_rows(table)
    return dict(zip(keys.to_pylist(), values.to_pylist(), strict=True))


def test_rows_are_those_below_the_position(tmp_path: Path) -> None:
    log, results = Log(tmp_path), JobResults(tmp_path)
    assert results.refresh().root == START
    log.write(0, [(0, "a", 1), (0, "b", 2)])
    assert results.refresh().root == Root(1, 0)
    assert rows_of(results) == {"a": 1, "b": 2}
    log.write(5, [(1, "a", 1), (2, "a", 7), (3, "b", 2)])
    results.refresh()
    assert rows_of(results) == {"a": 7}


def test_the_position_is_that_which_all_results_have(tmp_path: Path) -> None:
    first, second = Log(tmp_path, "t"), Log(tmp_path, "u")
    results = JobResults(tmp_path)
    first.write(0, [(0, "a", 1)])
    first.write(1, [(0, "b", 1)])
    second.reach(1)
    assert results.refresh().root == Root(1, 0)
    assert (rows_of(results, "t"), rows_of(results, "u")) == ({"a": 1}, {})
    second.write(1, [(0, "c", 1)])
    assert results.refresh().root == Root(2, 0)
    assert (rows_of(results, "t"), rows_of(results, "u")) == ({"a": 1, "b": 1}, {"c": 1})


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_a_log_that_was_cut_anywhere_has_whole_bundles(tmp_path: Path, cut: int) -> None:
    log = Log(tmp_path)
    log.write(0, [(0, "a", 1)])
    log.store.sync()
    log.write(1, [(0, "b", 2)])
    log.store.close()
    [segment] = segments(tmp_path / "positions" / "insert-t")
    data = segment.path.read_bytes()
    segment.path.write_bytes(data[: len(data) - cut])
    results = JobResults(tmp_path)
    position = results.refresh().root
    # Another epoch goes on from what is left, and writes again what was cut off.
    again = Log(tmp_path, epoch=2)
    assert again.position == position
    for at, key in enumerate("ab"):
        if again.position <= Root(at, 0):
            again.write(at, [(0, key, at + 1)])
    assert results.refresh().root == Root(2, 0)
    assert rows_of(results) == {"a": 1, "b": 2}


@pytest.mark.parametrize("kind", [0, 2, 3, 9])
def test_a_frame_whose_kind_is_damaged_does_not_count(tmp_path: Path, kind: int) -> None:
    log = Log(tmp_path)
    log.write(0, [(0, "a", 1)])
    log.store.close()
    [segment] = segments(tmp_path / "positions" / "insert-t")
    data = bytearray(segment.path.read_bytes())
    last = data.rindex(b"FSQR") + 4
    data[last] = kind if kind != data[last] else 1
    segment.path.write_bytes(data)
    assert JobResults(tmp_path).refresh().root == START
    assert Log(tmp_path, epoch=2).position == START


def test_an_incomplete_bundle_does_not_count(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(0, [(0, "a", 1)])
    log.write(1, [(0, "b", 2)], commits=False)
    again = Log(tmp_path, epoch=2)
    assert again.position == Root(1, 0)


def test_what_an_older_epoch_still_writes_changes_nothing(tmp_path: Path) -> None:
    older, results = Log(tmp_path, epoch=1), JobResults(tmp_path)
    older.write(0, [(0, "a", 1)])
    newer = Log(tmp_path, epoch=2)
    older.write(1, [(0, "b", 2)])
    results.refresh()
    newer.write(1, [(0, "b", 2)])
    newer.write(2, [(1, "b", 2), (2, "b", 3)])
    older.write(2, [(1, "b", 2), (2, "b", 3)])
    assert results.refresh().root == Root(3, 0)
    assert rows_of(results) == {"a": 1, "b": 3}
    with pytest.raises(SinkLostError, match="epoch 2 has begun"):
        Log(tmp_path, epoch=1)


def test_a_log_that_lacks_rows_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(0, [(0, "a", 1)])
    with pytest.raises(FsqlError) as error:
        Log(tmp_path, epoch=2, begins=Root(9, 0))
    assert error.value.diagnostics[0].code == "E537"


def test_rewritten_logs_have_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SEGMENT_BYTES", 2_000)
    log, results = Log(tmp_path), JobResults(tmp_path)
    for at in range(60):
        before = [(3, "a", at - 1)] if at else []
        log.write(at, [*before, (0, "a", at), (0, f"k{at}", at)])
        if at % 7 == 3:
            results.refresh()
            assert results.rewrite_if_long(0, keep=3_000) == 1
    results.refresh()
    late = JobResults(tmp_path)
    late.refresh()
    assert rows_of(late) == rows_of(results) == {"a": 59, **{f"k{at}": at for at in range(60)}}
    assert len(segments(tmp_path / "positions" / "insert-t")) < 12
    assert late.as_of.root == Root(60, 0)
    with pytest.raises(FsqlError) as error:
        Subscription(late, "t", START)
    assert error.value.diagnostics[0].code == "E675"


@pytest.mark.parametrize("after", [*range(0, 41, 5)])
def test_a_subscription_has_every_change_after_its_position(
    tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "SEGMENT_BYTES", 2_000)
    log, results = Log(tmp_path), JobResults(tmp_path)
    for at in range(40):
        log.write(at, [(0, f"k{at}", at), (0, f"l{at}", at)])
        results.refresh()
    subscription = Subscription(results, "t", Root(after, 0))
    found: list[tuple[str, int]] = []
    while (piece := subscription.next()) is not None:
        found += [(change.row["k"], change.row["n"]) for change in piece.changes]
    assert found == [(f"{letter}{at}", at) for at in range(after, 40) for letter in "kl"]
    assert subscription.position == "40.0"
    subscription.close()


def test_a_new_result_joins_when_it_has_the_position_of_the_others(tmp_path: Path) -> None:
    first, results = Log(tmp_path, "t"), JobResults(tmp_path)
    first.write(4, [(0, "a", 1)])
    results.refresh()
    second = Log(tmp_path, "u")
    second.write(0, [(0, "x", 1)])
    monotonic = results.refresh().root
    assert monotonic == Root(5, 0)
    assert [schema.table for schema in results.tables()] == ["t"]
    second.write(4, [(0, "y", 1)])
    results._listed = float("-inf")
    assert results.refresh().root == Root(5, 0)
    assert [schema.table for schema in results.tables()] == ["t", "u"]
    assert rows_of(results, "u") == {"x": 1, "y": 1}


@pytest.mark.parametrize("root", [START, END, Root(5, -3), Root(-(2**63) + 1, 2**63 - 1)])
def test_positions_are_read_as_they_were_shown(root: Root) -> None:
    assert position_of(text_of(root)) == root


@pytest.mark.parametrize(
    "text", ["", "5", "5.", "9" * 20 + ".1", "1.2.3", "ende", "1e3.0", "\uff19.\uff11"]
)
def test_other_texts_are_no_positions(text: str) -> None:
    with pytest.raises(FsqlError) as error:
        position_of(text)
    assert error.value.diagnostics[0].code == "E675"
