"""`fsql bench drift` runs all plans, with equal outputs, and its keys move from one worker to the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("forked_runs")]


def test_drift(tmp_path: Path) -> None:
    picture = tmp_path / "drift.svg"
    arguments = ("--rows", "3000", "--moves", "1", "--tick", "0.5", "--picture", picture)
    code, out, err = fsql("bench", "drift", *arguments, "--json")
    assert (code, err) == (0, "")
    *runs, medians = [json.loads(line) for line in out.splitlines()]
    assert [(run["plan"], run["parts"], run["rows"], run["bytes_equal"]) for run in runs] == [
        ("equal", 2, 3000, True),
        ("auto", 2, 3000, True),
        ("best", 2, 3000, True),
    ]
    assert medians["plan"] == "medians"
    assert {"auto_by_equal", "auto_by_best", "equal_imbalance_by_best"} <= set(medians)
    loads = [each["over_mean"] for run in runs for each in run["by_tick"]]
    assert all(1 <= load <= 2 for load in loads)
    texts = [element.text for element in ElementTree.fromstring(picture.read_text()).iter()]
    assert [text for text in texts if text in {"equal", "auto", "best"}] == [
        "equal",
        "auto",
        "best",
    ]


def test_keys_move_from_one_worker_to_the_other() -> None:
    from fsql.benchmarks.zipf import MovingKeys
    from fsql.compiler.owner_map import BINS

    keys = MovingKeys(1.4, 20_000, crowded=64, parts=3)
    parts = [part.bins() for part in keys.of_parts]
    first_halves = [part[: BINS // 2].sum() / part.sum() for part in parts]
    assert [half > 0.8 for half in first_halves] == [True, False, True]
    assert [half < 0.2 for half in first_halves] == [False, True, False]
    assert np.array_equal(sum(parts), keys.bins())
    hottest = [int(part.argmax()) for part in parts]
    assert len(set(hottest)) == 3


def test_the_load_of_the_busiest_worker_is_compared_with_the_mean() -> None:
    from fsql.benchmarks.by_turns import busy_of_workers, over_mean

    used = {"launcher": 9.0, "coordinator": 8.0, "worker-0": 1.0, "worker-1": 3.0}
    assert busy_of_workers(used) == [1.0, 3.0]
    assert over_mean([1.0, 3.0]) == 1.5
    assert over_mean([0.0, 0.0]) is None
