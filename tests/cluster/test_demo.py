"""The demonstration of the README, shorter: a worker is killed, and the result is that of one process."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from fsql import dev

pytestmark = pytest.mark.cluster


def test_the_demo_kills_a_worker_and_ends_with_what_to_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "queries" / "inverted_index"
    shutil.copytree(dev.DEMO, folder)
    monkeypatch.setattr(dev, "install", lambda *, tools: None)  # noqa: ARG005 - its signature
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "BIN", Path(sys.executable).parent)
    monkeypatch.setattr(dev, "DEMO", folder)
    monkeypatch.setattr(dev, "DEMO_SCRIPT", folder / "live.sql")
    monkeypatch.setattr(dev, "DEMO_RESULT", folder / "live_changes.jsonl")
    monkeypatch.setattr(dev, "DEMO_SECONDS", 1)
    monkeypatch.setattr(dev, "DEMO_PASSES", 4)
    assert dev.demo() == 0
    told = [line[4:] for line in capfd.readouterr().err.splitlines() if line.startswith("==> ")]
    assert [line for line in told if line.startswith("killed: worker process ")]
    assert told[-6].startswith("the results are equal, byte for byte: ")
    assert told[-5:] == [
        "results       queries/inverted_index/live_changes.jsonl",
        "the query     queries/inverted_index/live.sql",
        "try next      .venv/bin/fsql explain --stage tick queries/inverted_index/live.sql",
        "              .venv/bin/fsql run --overwrite queries/bank_transfers/query.sql",
        "              docs/tutorial.md: a query over what you type",
    ]
