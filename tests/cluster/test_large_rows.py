"""Rows near the limit of the size of a record pass between workers."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

ROW_BYTES: Final = 15_000_000
ROWS: Final = 6
KEYS: Final = 2
SCRIPT: Final = """
CREATE TABLE texts (k BIGINT, text STRING)
WITH ('connector' = 'file', 'path' = 'texts.jsonl', 'max_record_bytes' = '16000000');
CREATE TABLE lengths (k BIGINT, n BIGINT) WITH ('connector' = 'file', 'path' = 'lengths.jsonl');
INSERT INTO lengths
SELECT k, CHAR_LENGTH(greatest) FROM (SELECT k, MAX(text) AS greatest FROM texts GROUP BY k);
"""


def test_rows_of_fifteen_megabytes_on_two_workers(tmp_path: Path) -> None:
    rng = random.Random(15)
    greatest: dict[int, str] = {}
    expected = []
    with (tmp_path / "texts.jsonl").open("w") as texts:
        for number in range(ROWS):
            key, letter = rng.randrange(KEYS), rng.choice("abcdef")
            text = letter * (ROW_BYTES + number)
            texts.write(json.dumps({"k": key, "text": text}) + "\n")
            before = greatest.get(key)
            greatest[key] = text if before is None else max(before, text)
            if before is None:
                expected.append({"op": "+I", "k": key, "n": len(text)})
            elif greatest[key] != before:
                expected.append({"op": "-U", "k": key, "n": len(before)})
                expected.append({"op": "+U", "k": key, "n": len(greatest[key])})
    (tmp_path / "job.sql").write_text(SCRIPT)

    flags = ["--quiet", "--workers", "2", "--state", str(tmp_path / "state")]
    run_command(["run", *flags, str(tmp_path / "job.sql")], check=True)

    written = (tmp_path / "lengths.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in written] == expected
