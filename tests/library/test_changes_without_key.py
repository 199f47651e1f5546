"""Changes without a key: what is written as changes is the same table when it is read again."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

import fsql

if TYPE_CHECKING:
    from pathlib import Path

TOTALS = "SELECT v, COUNT(*), SUM(k) FROM"


def write_changes(path: Path) -> None:
    """Write changes of few rows, which are there several times."""
    random = Random(7)
    there: list[tuple[str, int | None]] = []
    with path.open("w", encoding="utf-8") as file:
        for _ in range(400):
            if there and random.random() < 0.45:
                op: str | None = random.choice(("-D", "-U"))
                v, k = there.pop(random.randrange(len(there)))
            else:
                op = random.choice(("+I", "+U", None))
                v, k = random.choice("ab"), random.choice((1, 2, None))
                there.append((v, k))
            file.write(json.dumps({"op": op, "v": v, "k": k}) + "\n")


@pytest.mark.parametrize(("name", "format_"), [("c.jsonl", "json"), ("c.csv", "csv")])
def test_written_changes_are_the_same_table(name: str, format_: str, tmp_path: Path) -> None:
    write_changes(tmp_path / "given.jsonl")
    totals = "(v STRING, n BIGINT, total BIGINT, PRIMARY KEY (v) NOT ENFORCED)"
    files = {"given": "given.jsonl", "copy": name}
    for source, path in files.items():
        form = format_ if source == "copy" else "json"
        fsql.Session(base_directory=tmp_path).run(f"""
            CREATE TABLE {source} (v STRING, k BIGINT)
                WITH ('connector' = 'file', 'path' = '{path}', 'format' = '{form}', 'changes' = 'retract');
            CREATE TABLE of_{source} {totals} WITH ('connector' = 'file', 'path' = 'of_{source}.jsonl');
            CREATE TABLE changed {totals} WITH ('connector' = 'file', 'path' = 'changed_{source}.jsonl');
            CREATE TABLE copied (v STRING, k BIGINT)
                WITH ('connector' = 'file', 'path' = 'copied_{source}', 'format' = '{format_}');
            CREATE VIEW changes AS SELECT * FROM TO_CHANGELOG(TABLE {source});
            INSERT INTO of_{source} {TOTALS} {source} GROUP BY v;
            INSERT INTO changed {TOTALS} FROM_CHANGELOG(TABLE changes) GROUP BY v;
            INSERT INTO copied SELECT * FROM {source};
        """)
        (tmp_path / f"copied_{source}").rename(tmp_path / name)
    written = {path.stem: path.read_text() for path in tmp_path.glob("*_*.jsonl")}
    assert set(written.values()) == {written["of_given"]}
    assert len(written) == 4
    assert len(written["of_given"].splitlines()) > 300
