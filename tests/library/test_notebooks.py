"""Results at a prompt and in notebooks, and the cell magic, by a shell that has what is used of IPython's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import fsql
from fsql.job.notebooks import Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS: list[dict[str, Any]] = [
    {"word": "a<b", "n": 1},
    {"word": "b", "n": None},
    {"word": "a<b", "n": 3},
]
COUNTS = "SELECT word, COUNT(*) AS c FROM words GROUP BY word"


class Shell:
    def __init__(self, **variables: object) -> None:
        self.user_ns: dict[str, object] = variables
        self.magics: dict[str, Callable[[str, str], object]] = {}
        fsql.load_ipython_extension(self)

    def register_magic_function(
        self, func: Callable[[str, str], object], magic_kind: str, magic_name: str
    ) -> None:
        assert magic_kind == "cell"
        self.magics[magic_name] = func

    def cell(self, text: str, line: str = "") -> object:
        return self.magics["fsql"](line, text)


def test_a_result_shows_its_rows() -> None:
    changes = fsql.sql(COUNTS, tables={"words": WORDS})
    plain = "word  c\nb     1\na<b   2\n(2 rows after 4 changes)"
    assert repr(changes) == plain
    assert changes._repr_mimebundle_() == {
        "text/plain": plain,
        "text/html": (
            "<table>\n<thead><tr><th>word</th><th>c</th></tr></thead>\n<tbody>\n"
            '<tr><td>b</td><td style="text-align: right">1</td></tr>\n'
            '<tr><td>a&lt;b</td><td style="text-align: right">2</td></tr>\n'
            "</tbody>\n</table>\n<p>2 rows after 4 changes</p>\n"
        ),
    }


def test_long_results_are_cut() -> None:
    rows = [{"n": number, "s": "x\n" * 100} for number in range(25)]
    lines = repr(fsql.sql("SELECT n, s FROM t", tables={"t": rows})).splitlines()
    assert lines[0] == "n   s"
    assert lines[1] == "0   " + ("x\\n" * 40)[:119] + "…"
    assert lines[20][:2] == "19"
    assert lines[21:] == ["… 5 more rows", "(25 rows after 25 changes)"]


def test_a_query_without_an_end_shows_its_first_changes() -> None:
    script = "CREATE TABLE t (n BIGINT) WITH ('connector' = 'datagen'); SELECT COUNT(*) AS c FROM t"
    last = repr(fsql.sql(script)).splitlines()[-1]
    assert last.startswith("(1 row after ")
    assert last.endswith(" first changes)")


def test_an_empty_result_shows_its_columns() -> None:
    changes = fsql.sql("SELECT n FROM t WHERE n > 5", tables={"t": pa.table({"n": [1]})})
    assert repr(changes) == "n\n(0 rows after 0 changes)"


def test_a_cell_reads_variables_and_names_its_result() -> None:
    shell = Shell(words=WORDS, c=5, unused=object())
    result = shell.cell(COUNTS, "counts")
    assert isinstance(result, fsql.Changes)
    assert shell.user_ns["counts"] is result
    again = shell.cell("SELECT SUM(c) AS s FROM counts")
    assert isinstance(again, fsql.Changes)
    assert again.table().to_pylist() == [{"s": 3}]


def test_a_cell_may_write_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(words=WORDS)
    script = (
        "CREATE TABLE out (word STRING) WITH ('connector' = 'file', 'path' = 'out.jsonl');"
        "INSERT INTO out SELECT word FROM words;"
    )
    assert shell.cell(script) == Written(3, 3)
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 3


def test_what_a_cell_refuses() -> None:
    shell = Shell(words=WORDS)
    with pytest.raises(fsql.QueryError, match="FSQL-E203") as error:
        shell.cell("SELECT wrod FROM words")
    assert vars(error.value)["_render_traceback_"]() == str(error.value).splitlines()
    with pytest.raises(ValueError, match="takes the name of one variable, not 'a b'") as refused:
        shell.cell(COUNTS, "a b")
    assert vars(refused.value)["_render_traceback_"]() == [str(refused.value)]


def test_a_variable_that_is_no_table_is_named() -> None:
    shell = Shell(words=[], n=5)
    for name, kind in (("words", "list"), ("n", "int")):
        with pytest.raises(fsql.QueryError) as error:
            shell.cell(f"SELECT 1 AS one FROM {name}")
        [note] = error.value.diagnostics[0].notes
        assert note == (
            f'the variable "{name}" is of type {kind}; tables are data frames, Arrow tables, and lists of'
            " dictionaries that are not empty"
        )
    with pytest.raises(fsql.QueryError) as error:
        shell.cell("SELECT 1 AS one FROM missing")
    assert error.value.diagnostics[0].notes == ()
