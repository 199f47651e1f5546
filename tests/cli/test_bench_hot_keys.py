"""`fsql bench hot-key` and `hot-join`: what is printed, and that all variants write the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path


def test_hot_key(tmp_path: Path) -> None:
    picture = tmp_path / "hot.svg"
    arguments = ("--rows", "3000", "--keys", "5", "--workers", "3", "--tick", "0.5")
    code, out, err = fsql("bench", "hot-key", *arguments, "--picture", picture, "--json")
    assert (code, err) == (0, "")
    *runs, medians = [json.loads(line) for line in out.splitlines()]
    assert [(run["plan"], run["rows"], run["bytes_equal"]) for run in runs] == [
        ("equal", 3000, True),
        ("auto", 3000, True),
        ("best", 3000, True),
    ]
    assert {"benchmark", "share", "keys", "workers", "plan", "best_by_equal"} <= set(medians)
    assert [len(run["busy_seconds"]) for run in runs] == [3, 3, 3]
    assert all(run["pre_aggregates"] is (run["reason"] is not None) for run in runs[2:])
    texts = [element.text for element in ElementTree.fromstring(picture.read_text()).iter()]
    plans = ["equal", "auto", "best"]
    assert [text for text in texts if text in plans] == plans


def test_hot_join(tmp_path: Path) -> None:
    picture = tmp_path / "hot.svg"
    arguments = ("--rows", "3000", "--keys", "5", "--workers", "2", "--picture", picture)
    code, out, err = fsql("bench", "hot-join", *arguments, "--json")
    assert (code, err) == (0, "")
    *runs, medians = [json.loads(line) for line in out.splitlines()]
    assert [(run["plan"], run["rows"], run["bytes_equal"]) for run in runs] == [
        ("whole", 3000, True),
        ("divided", 3000, True),
    ]
    assert {"benchmark", "share", "keys", "workers", "divided_by_whole"} <= set(medians)
    texts = [element.text for element in ElementTree.fromstring(picture.read_text()).iter()]
    assert [text for text in texts if text in {"whole", "divided"}] == ["whole", "divided"]
