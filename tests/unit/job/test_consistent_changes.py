"""Which outputs of a changed script would get changes that do not add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.text.source import SourceText
from fsql.job.compilation import compile_job
from fsql.job.graph_diff import StateChange, check_consistent, compare
from fsql.job.script import Script

TABLE = (
    "CREATE TABLE a (k BIGINT, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)"
    " WITH ('connector' = 'datagen', 'count' = '9', 'fields.at.step' = '1 s');\n"
)
COUNTS = "SELECT k, COUNT(*) AS n FROM a GROUP BY k"


def inconsistent(
    old: list[str], new: list[str], change: StateChange = StateChange.KEEP
) -> tuple[str, ...]:
    before, after = (
        compile_job(Script(SourceText("q", TABLE + "".join(each)), {}, Path())).job
        for each in (old, new)
    )
    return compare(before, after, change, None).inconsistent


def output(
    query: str, name: str = "o", columns: str = "k BIGINT, n BIGINT", file: str = "o"
) -> str:
    options = f"'connector' = 'file', 'path' = '{file}.jsonl', 'changes' = 'retract'"
    return f"CREATE TABLE {name} ({columns}) WITH ({options});\nINSERT INTO {name} {query};\n"


RANKED = (
    "SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM a)"
    " WHERE r <= 2"
)
JOINED = "SELECT l.k, r.v FROM a AS l LEFT JOIN a AS r ON l.k = r.k"
UNION = f"SELECT k, v FROM a UNION ALL {COUNTS}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (COUNTS, "SELECT k, COUNT(*) * 1000 AS n FROM a GROUP BY k"),
        (COUNTS, f"{COUNTS} HAVING MOD(k, 2) = 0"),
        (f"{COUNTS} HAVING COUNT(*) > 2", COUNTS),
        (COUNTS, f"SELECT n, COUNT(*) FROM ({COUNTS}) GROUP BY n"),
        (RANKED, f"SELECT k, v + 1 FROM ({RANKED})"),
        (JOINED, f"{JOINED} WHERE l.k > 1"),
        (UNION, COUNTS),
        (COUNTS, "SELECT k, v FROM a"),
        ("SELECT DISTINCT k, v FROM a", "SELECT DISTINCT k, v + 1 FROM a"),
    ],
)
@pytest.mark.parametrize("change", StateChange)
def test_another_result_of_an_updating_output(old: str, new: str, change: StateChange) -> None:
    assert inconsistent([output(old)], [output(new)], change) == ("o",)
    assert inconsistent([output(old)], [output(old)], change) == ()
    assert inconsistent([output(new)], [output(new)], change) == ()


def test_other_columns() -> None:
    renamed = output(COUNTS, columns="k BIGINT, m BIGINT")
    assert inconsistent([output(COUNTS)], [renamed]) == ("o",)


def test_a_new_output_of_kept_state_lacks_rows_unless_it_is_rebuilt() -> None:
    old, new = [output(COUNTS)], [output(COUNTS), output(COUNTS, "p", file="p")]
    assert inconsistent(old, new) == ("p",)
    assert inconsistent(old, new, StateChange.REBUILD) == ()
    # An output whose whole state begins with it has all of its rows.
    sums = output("SELECT k, SUM(v) AS n FROM a GROUP BY k", "p", file="p")
    assert inconsistent(old, [*old, sums], StateChange.LOSE) == ()


def test_rows_that_are_only_added_stay() -> None:
    old, new = ("SELECT k, v FROM a", "SELECT k, v + 1 FROM a WHERE k > 3")
    assert inconsistent([output(old)], [output(new)]) == ()
    assert (
        inconsistent([output(old), output(COUNTS, "p", file="p")], [output(COUNTS, "p", file="p")])
        == ()
    )


def test_the_refusal() -> None:
    before, after = (
        compile_job(Script(SourceText("q", TABLE + output(query)), {}, Path())).job
        for query in (COUNTS, f"{COUNTS} HAVING k > 1")
    )
    with pytest.raises(FsqlError) as refused:
        check_consistent(compare(before, after, StateChange.KEEP, None))
    [diagnostic] = refused.value.diagnostics
    assert (str(diagnostic.code)[-4:], diagnostic.helps) == (
        "E638",
        (
            "deploy the script under another name, with new outputs",
            "or accept such changes: --allow-inconsistent",
        ),
    )
