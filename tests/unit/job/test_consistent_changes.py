"""What outputs of a changed script get at the position of the change, and where that is not known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.text.source import SourceText
from fsql.job.compilation import compile_job
from fsql.job.graph_diff import StateChange, check_consistent, compare
from fsql.job.script import Script

if TYPE_CHECKING:
    from fsql.job.graph_diff import GraphDiff

TABLE = (
    "CREATE TABLE a (k BIGINT, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)"
    " WITH ('connector' = 'datagen', 'count' = '9', 'fields.at.step' = '1 s');\n"
)
COUNTS = "SELECT k, COUNT(*) AS n FROM a GROUP BY k"


def diff(old: list[str], new: list[str], change: StateChange = StateChange.KEEP) -> GraphDiff:
    before, after = (
        compile_job(Script(SourceText("q", TABLE + "".join(each)), {}, Path())).job
        for each in (old, new)
    )
    return compare(before, after, change, None)


def reasons(
    old: list[str], new: list[str], change: StateChange = StateChange.KEEP
) -> list[tuple[str, str | None]]:
    return [(each.output, each.reason) for each in diff(old, new, change).differences]


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


NOT_KEPT = 'the rows of table "a" are not kept'
EMITTED = "SELECT k, COUNT(*) AS n FROM TUMBLE(a, at, INTERVAL '2' SECOND) GROUP BY k, window_end"
EARLY = f"{EMITTED} EMIT CHANGES"
TIMED = "SET 'table.exec.state.ttl' = '4 s';\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (COUNTS, "SELECT k, COUNT(*) * 1000 AS n FROM a GROUP BY k"),
        (COUNTS, f"{COUNTS} HAVING COUNT(*) > 2"),
        (f"{COUNTS} HAVING COUNT(*) > 2", COUNTS),
        (RANKED, f"SELECT k, v + 1 FROM ({RANKED})"),
        (JOINED, f"{JOINED} WHERE r.v > 1"),
        ("SELECT DISTINCT k, v FROM a", "SELECT DISTINCT k, v + 1 FROM a"),
        (UNION, UNION.replace("COUNT(*) AS n", "COUNT(*) + 1 AS n")),
        (f"{EMITTED} UNION ALL {COUNTS}", f"{EMITTED} UNION ALL {COUNTS} HAVING COUNT(*) > 2"),
    ],
)
def test_differences_that_the_state_has(old: str, new: str) -> None:
    for one, other in ((old, new), (new, old)):
        assert reasons([output(one)], [output(other)]) == [("o", None)]
        assert reasons([output(one)], [output(one)]) == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (UNION, COUNTS, NOT_KEPT),
        (COUNTS, UNION, NOT_KEPT),
        (COUNTS, "SELECT k, v FROM a", NOT_KEPT),
        (EARLY, EARLY.replace("COUNT(*)", "COUNT(*) + 1"), "windows that have closed are not kept"),
        (
            f"{COUNTS} UNION ALL {EMITTED}",
            COUNTS,
            "windows that have closed are not kept",
        ),
        (
            f"SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY at) AS n FROM a UNION ALL {COUNTS}",
            COUNTS,
            "rows are not kept once they are written",
        ),
    ],
)
def test_differences_that_the_state_does_not_have(old: str, new: str, reason: str) -> None:
    assert reasons([output(old)], [output(new)]) == [("o", reason)]


def test_state_with_a_time_to_live() -> None:
    old, new = (TIMED + output(each) for each in (COUNTS, f"{COUNTS} HAVING COUNT(*) > 2"))
    assert reasons([old], [new]) == [("o", "groups are dropped from the state after a time")]


def test_operators_that_begin_empty() -> None:
    sums = "SELECT k, SUM(v) AS n FROM a GROUP BY k"
    # The rows of the old result are removed, and the new one has none yet.
    [difference] = diff([output(COUNTS)], [output(sums)], StateChange.LOSE).differences
    assert (difference.reason, len(difference.removed), difference.added) == (None, 1, ())
    of_counts = f"SELECT n, COUNT(*) FROM ({COUNTS}) GROUP BY n"
    assert reasons([output(COUNTS)], [output(of_counts)], StateChange.LOSE) == [
        (
            "o",
            "an operator begins empty over one that keeps its state, and does not have its rows",
        )
    ]


def test_other_columns() -> None:
    def refused(columns: str, query: str = COUNTS) -> list[tuple[str, str | None]]:
        return reasons([output(COUNTS)], [output(query, columns=columns)])

    assert refused("k BIGINT, m BIGINT") == [("o", None)]
    assert refused("n BIGINT, k BIGINT", "SELECT COUNT(*) AS n, k FROM a GROUP BY k") == [
        ("o", None)
    ]
    assert refused("k BIGINT, n DOUBLE") == [("o", 'column "n" was BIGINT, and is DOUBLE')]
    more = "SELECT k, COUNT(*) AS n, COUNT(*) AS m FROM a GROUP BY k"
    assert refused("k BIGINT, n BIGINT, m BIGINT", more) == [("o", None)]
    assert refused("k BIGINT, n BIGINT, m BIGINT NOT NULL", more) == [
        ("o", 'column "m" is new and NOT NULL')
    ]


def test_other_forms() -> None:
    upsert = output(COUNTS).replace("BIGINT) WITH", "BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH")
    upsert = upsert.replace("'retract'", "'upsert'")
    assert reasons([output(COUNTS)], [upsert]) == [("o", "its option 'changes' changed")]
    # A file may be moved; whether it was is checked where the files are.
    assert reasons([output(COUNTS)], [output(COUNTS, file="p")]) == []
    assert reasons([upsert], [upsert.replace("COUNT(*)", "COUNT(*) + 1")]) == [("o", None)]


def test_a_new_output_of_kept_state_gets_its_rows() -> None:
    old, new = [output(COUNTS)], [output(COUNTS), output(COUNTS, "p", file="p")]
    [difference] = diff(old, new).differences
    assert (difference.output, difference.reason, difference.insert) == ("p", None, 1)
    assert (difference.removed, len(difference.added)) == ((), 1)
    assert reasons(old, new, StateChange.REBUILD) == []
    # An output whose whole state begins with it has all of its rows.
    sums = output("SELECT k, SUM(v) AS n FROM a GROUP BY k", "p", file="p")
    assert reasons(old, [*old, sums], StateChange.LOSE) == []


def test_rows_that_are_only_added_stay() -> None:
    old, new = ("SELECT k, v FROM a", "SELECT k, v + 1 FROM a WHERE k > 3")
    assert reasons([output(old)], [output(new)]) == []
    both = [output(old), output(COUNTS, "p", file="p")]
    assert reasons(both, [output(COUNTS, "p", file="p")]) == []


def test_the_refusal() -> None:
    with pytest.raises(FsqlError) as refused:
        check_consistent(diff([output(UNION)], [output(COUNTS)]))
    [diagnostic] = refused.value.diagnostics
    assert (str(diagnostic.code)[-4:], diagnostic.message, diagnostic.helps) == (
        "E638",
        f'the changes of output "o" would not add up: {NOT_KEPT}',
        (
            "deploy the script under another name, with new outputs",
            "or accept such changes: --allow-inconsistent",
        ),
    )
