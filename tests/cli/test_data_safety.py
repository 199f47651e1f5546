"""Nothing that a job reads is ever emptied by what it writes, whatever the file is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

_SCRIPT = """
CREATE TABLE t (k BIGINT) WITH ('connector' = 'file', 'path' = '{source}');
CREATE TABLE o (k BIGINT) WITH ('connector' = 'file', 'path' = '{sink}');
INSERT INTO o SELECT k FROM t;
"""


def refused(directory: Path, source: str, sink: str) -> str:
    script = directory / "script.sql"
    script.write_text(_SCRIPT.format(source=source, sink=sink))
    code, out, err = fsql("run", "--quiet", str(script))
    assert (code, out) == (1, "")
    assert script.read_text() == _SCRIPT.format(source=source, sink=sink)
    return err.splitlines()[0]


def test_a_hard_link_to_the_input(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"k":1}\n')
    os.link(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    expected = (
        f'error[FSQL-E532]: path "{tmp_path}/out.jsonl" cannot be written: table "t" reads it'
    )
    assert refused(tmp_path, "in.jsonl", "out.jsonl") == expected
    assert (tmp_path / "in.jsonl").read_text() == '{"k":1}\n'


def test_a_hard_link_to_a_file_of_a_directory_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"k":1}\n')
    os.link(tmp_path / "in" / "a.jsonl", tmp_path / "out.jsonl")
    expected = (
        f'error[FSQL-E532]: path "{tmp_path}/out.jsonl" cannot be written: table "t" reads it'
    )
    assert refused(tmp_path, "in", "out.jsonl") == expected


def test_the_script_itself(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"k":1}\n')
    assert refused(tmp_path, "in.jsonl", "script.sql") == (
        f'error[FSQL-E532]: path "{tmp_path}/script.sql" cannot be written: it is the script itself'
    )


def test_standard_input_cannot_be_script_and_table() -> None:
    script = "CREATE TABLE s (k BIGINT) WITH ('connector' = 'stdin'); SELECT k FROM s;"
    code, out, err = fsql("run", "--quiet", "-", text=script)
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == (
        "error[FSQL-E531]: standard input cannot be read: the script was read from it"
    )
