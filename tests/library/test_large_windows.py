"""Windows that close with more text than one batch can have are refused; those in parts keep their order.

The limits are made small here.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import fsql
from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.kernels.keyed import slot_ends

QUERY = """
SELECT s, MAX(v) AS v, COUNT(*) AS n
FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE)
GROUP BY s, window_start, window_end
"""
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
WIDTH = 100


def run() -> list[Any]:
    rows = [
        {"s": letter * WIDTH, "v": letter * 2, "at": START + dt.timedelta(seconds=number)}
        for number, letter in enumerate("fbdacefb")
    ]
    return list(fsql.sql(QUERY, tables={"t": fsql.Table(rows, event_time="at")}))


def test_a_window_in_parts_has_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run()
    counts = {row["s"][0]: (row["v"], row["n"]) for _, row in whole}
    assert counts == {letter: (letter * 2, 2 if letter in "fb" else 1) for letter in "abcdef"}
    monkeypatch.setattr(slot_ends, "_SLOTS_OF_PART", 2)
    assert run() == whole


@pytest.mark.parametrize("slots", [1, 4, 100])
def test_windows_that_are_too_large_are_refused(
    monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    monkeypatch.setattr(slot_ends, "_SLOTS_OF_PART", slots)
    monkeypatch.setattr(slot_ends, "COLUMN_BYTES_MAX", 6 * WIDTH + 200)
    assert len(run()) == 6
    monkeypatch.setattr(slot_ends, "COLUMN_BYTES_MAX", 6 * WIDTH - 1)
    with pytest.raises(FsqlError) as raised:
        run()
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == (
        "E507",
        "windows that close together have more than 599 bytes in one column on one worker",
    )
