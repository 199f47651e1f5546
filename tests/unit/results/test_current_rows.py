"""The rows of a result after random changes, compared with dictionaries of Python."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.job.results import current_rows
from fsql.job.results.current_rows import CurrentRows

TYPES = (pa.string(), pa.int64())
ADD, BEFORE, AFTER, REMOVE = range(4)
Change = tuple[int, str | None, int | None]


def apply(rows: CurrentRows, changes: list[Change]) -> None:
    columns = [
        pa.array([key for _, key, _ in changes], pa.string()),
        pa.array([value for _, _, value in changes], pa.int64()),
    ]
    rows.apply(columns, np.array([operation for operation, _, _ in changes], np.int8))


def all_of(rows: CurrentRows) -> list[tuple[str | None, int | None]]:
    found = [column.to_pylist() for column in rows.all_rows()]
    return list(zip(*found, strict=True))


def keyed_changes(random: Random, model: dict[str | None, int | None], count: int) -> list[Change]:
    changes: list[Change] = []
    for _ in range(count):
        key = random.choice([None, *(f"k{number}" for number in range(30))])
        value = random.choice([None, *range(5)])
        if key not in model:
            changes.append((ADD, key, value))
            model[key] = value
        elif random.random() < 0.3:
            changes.append((REMOVE, key, model.pop(key)))
        else:
            changes += [(BEFORE, key, model[key]), (AFTER, key, value)]
            model[key] = value
    return changes


@pytest.mark.parametrize("seed", range(5))
def test_keyed_rows_are_those_of_a_dictionary(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_rows, "_SLACK_ROWS", 20)
    random = Random(seed)
    rows = CurrentRows(TYPES, (0,), appends=False, rows_max=10)
    model: dict[str | None, int | None] = {}
    for _ in range(60):
        apply(rows, keyed_changes(random, model, random.randrange(1, 12)))
        assert sorted(map(str, all_of(rows))) == sorted(map(str, model.items()))
        assert rows.live == len(model)
        for key in ("k1", "k2", None, "absent"):
            found = rows.rows_of_key([pa.array([key], pa.string())])
            assert found is not None
            assert found[1].to_pylist() == ([model[key]] if key in model else [])


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_without_a_key_are_counted(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_rows, "_SLACK_ROWS", 20)
    random = Random(seed)
    rows = CurrentRows(TYPES, None, appends=False, rows_max=10)
    model: Counter[tuple[str | None, int | None]] = Counter()
    for _ in range(60):
        changes: list[Change] = []
        for _ in range(random.randrange(1, 12)):
            if model and random.random() < 0.45:
                row = random.choice(sorted(model.elements(), key=str))
                model[row] -= 1
                model += Counter()
                changes.append((REMOVE, *row))
            else:
                row = (random.choice(["a", "b", None]), random.choice([None, 1, 2]))
                model[row] += 1
                changes.append((ADD, *row))
        apply(rows, changes)
        assert Counter(all_of(rows)) == model
        assert rows.live == model.total()
        again = CurrentRows(TYPES, None, appends=False, rows_max=10)
        again.load(rows.all_rows())
        assert all_of(again) == all_of(rows)


def test_a_result_without_columns_in_its_key_has_one_row() -> None:
    rows = CurrentRows(TYPES, (), appends=False, rows_max=10)
    apply(rows, [(ADD, "a", 1)])
    apply(rows, [(BEFORE, "a", 1), (AFTER, "a", 2)])
    assert all_of(rows) == [("a", 2)]


def test_the_first_rows_of_a_result_that_only_grows_are_dropped() -> None:
    rows = CurrentRows(TYPES, None, appends=True, rows_max=10)
    for number in range(45):
        apply(rows, [(ADD, "a", number)])
    found = all_of(rows)
    assert found == [("a", number) for number in range(45 - len(found), 45)]
    assert 10 <= len(found) <= 20
    assert (rows.live, rows.dropped) == (len(found), 45 - len(found))
    assert rows.rows_of_key([pa.array(["a"])]) is None
