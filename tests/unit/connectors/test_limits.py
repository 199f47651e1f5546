"""Limits on the numbers of open files, and of splits and rows, which origins have room for."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import ROWS_MAX, SPLITS_MAX, TABLES_MAX
from fsql.compiler.text.source import SourceText
from fsql.connectors.paths import open_error
from fsql.console.check import check_script
from fsql.job import sources as job
from fsql.job.compilation import compile_job
from fsql.job.script import Script
from fsql.runtime.batch import END, Root, origin, origin_parts
from fsql.runtime.ports import Chunk, DeadLetter

if TYPE_CHECKING:
    from pathlib import Path

GREATEST = (TABLES_MAX - 1, SPLITS_MAX - 1, ROWS_MAX - 1)


def test_open_files_are_limited_by_the_shell() -> None:
    error = open_error("E531", "a.jsonl", OSError(errno.EMFILE, "Too many open files"))
    (diagnostic,) = error.diagnostics
    assert diagnostic.message == 'path "a.jsonl" cannot be read: too many open files'
    assert diagnostic.helps == ("raise the limit of open files: ulimit -n 65536",)


def test_the_greatest_numbers_have_room() -> None:
    packed = origin(*GREATEST)
    assert origin_parts(packed) == GREATEST
    assert Root(0, packed) < Root(0, END.origin + 1)


def chunk_of(row: int, dead_letters: list[DeadLetter]) -> Chunk:
    return Chunk([pa.array([1])], np.array([row]), dead_letters, 0)


def test_a_row_that_has_no_number_is_refused() -> None:
    chunk_of(ROWS_MAX - 1, []).check_row_numbers()
    for chunk in (
        chunk_of(ROWS_MAX, []),
        chunk_of(0, [DeadLetter(ROWS_MAX, -1, -1, 511, "", "", "")]),
    ):
        with pytest.raises(FsqlError, match="more than 1,099,511,627,776 rows"):
            chunk.check_row_numbers()


def test_a_table_has_so_many_splits_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("")
    text = (
        f"CREATE TABLE t (n BIGINT) WITH ('connector' = 'file', 'path' = '{tmp_path}');"
        " SELECT n FROM t;"
    )
    result = compile_job(Script(SourceText("job.sql", text), {}, tmp_path))
    monkeypatch.setattr(job, "SPLITS_MAX", 3)
    assert len(job.open_splits(result)[0]) == 3
    monkeypatch.setattr(job, "SPLITS_MAX", 2)
    with pytest.raises(FsqlError) as caught:
        job.open_splits(result)
    check = check_script(result.script)
    assert not check.valid
    for diagnostics in (caught.value.diagnostics, check.diagnostics):
        [diagnostic] = diagnostics
        assert (diagnostic.code, diagnostic.message) == (
            "E539",
            'table "t" has 3 splits; the limit is 2',
        )
