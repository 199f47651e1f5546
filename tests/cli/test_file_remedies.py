"""Files of other forms than a script expects: what the error says to do is done, until the job runs."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

TRAIL = {"Records": [{"name": "é", "n": n, "p": {"k": [n]}} for n in range(3)], "rest": "[{"}
PRETTY = json.dumps(TRAIL, indent=1).encode()
ROWS = "".join(f'{{"name":"é","n":{n}}}\n' for n in range(3))
CSV = "né,n\nà,1\n"


def declared(name: str, columns: str = "name STRING, n BIGINT", options: str = "") -> str:
    selected = re.sub(r" [A-Z]+", "", columns)
    return (
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'file', 'path' = '{name}'{options});"
        f" SELECT {selected} FROM t"
    )


def with_help(script: str, err: str) -> str:
    """Return the script with the first option that the error says to add."""
    match = re.search(r"^ *= help: (?:add|write) (('[a-z._]+' = )'[^']+')", err, re.MULTILINE)
    assert match is not None, err
    option, key = match.groups()
    if key in script:
        return re.sub(f"{key}'[^']+'", lambda _: option, script)
    if "WITH (" in script:
        return script.replace("WITH (", f"WITH ({match[1]}, ", 1)
    if "OPTIONS(" in script:
        return script.replace("OPTIONS(", f"OPTIONS({match[1]}, ", 1)
    return re.sub(r"('[^']+')$", rf"\1 /*+ OPTIONS({match[1]}) */", script)


@pytest.mark.parametrize(
    ("name", "data", "script", "times", "out"),
    [
        ("a.json", PRETTY, "SELECT r.n FROM 'a.json' AS t CROSS JOIN UNNEST(t.Records) AS r", 0, 3),
        (
            "a.json",
            PRETTY,
            "SELECT name, n FROM 'a.json' /*+ OPTIONS('json.records' = '$.x') */",
            1,
            3,
        ),
        ("a.json", ROWS.encode("cp1252"), declared("a.json"), 1, 3),
        ("a.json", ROWS.encode("cp1252"), "SELECT name, n FROM 'a.json'", 1, 3),
        ("a.json", ROWS.encode("utf-16"), declared("a.json"), 1, 3),
        ("a.json", ROWS.encode("utf-16-le"), declared("a.json"), 1, 3),
        ("a.json", ROWS.encode("utf-16-be"), "SELECT name, n FROM 'a.json'", 1, 3),
        (
            "a.json",
            gzip.compress(ROWS.encode("utf-16"), mtime=0),
            "SELECT name, n FROM 'a.json'",
            1,
            3,
        ),
        ("a.json", ROWS.encode("latin-1") + b'{"name":"\x81"}', declared("a.json"), 2, 4),
        ("a.json", PRETTY.replace(b"\\u00e9", b"\xe9"), declared("a.json", "Records STRING"), 1, 1),
        (
            "a.csv",
            CSV.encode("cp1252"),
            declared("a.csv", "`né` STRING", ", 'format' = 'csv'"),
            1,
            1,
        ),
        (
            "a.csv",
            CSV.encode("utf-16"),
            declared("a.csv", "`né` STRING", ", 'format' = 'csv'"),
            1,
            1,
        ),
        ("a.csv", CSV.encode("utf-16-le"), "SELECT n FROM 'a.csv'", 1, 1),
        ("a.csv", CSV.encode("cp1252"), "SELECT n FROM 'a.csv'", 1, 1),
        ("a.csv", b"n,s\n1,a\n2,\xe9\n", "SELECT n, s FROM 'a.csv'", 1, 2),
        ("a.log", b"a\n\xe9\n", "SELECT line FROM 'a.log'", 1, 2),
        ("a.json", ROWS.encode() + b'{\n"n": 3\n}', declared("a.json"), 1, 4),
        ("a.json", ROWS.encode() + b'{\n"n": 3\n}', "SELECT n FROM 'a.json'", 1, 4),
        ("a.json", PRETTY, declared("a.json", options=", 'json.records' = '$.rows'"), 1, 3),
        (
            "a.json",
            json.dumps(TRAIL).encode(),
            declared("a.json", "Records STRING, n INT", ", 'max_record_bytes' = '99'"),
            1,
            3,
        ),
    ],
)
def test_what_an_error_says_to_add_is_added_until_the_job_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    data: bytes,
    script: str,
    times: int,
    out: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(data)
    helps = 0
    while (run := fsql("run", "-q", "-e", script)).code and helps < 3:
        script = with_help(script, run.err)
        helps += 1
    assert run.code == 0, run.err
    assert (helps, run.out.count("\n")) == (times, out), run.out
