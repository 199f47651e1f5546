"""State with a time to live ends by the times of positions, as a loop over the rows says, on every way.

The loop knows rows, their positions and when a group or a row is too old, and nothing of plans.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.lowering.job import lower
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.optimizer.choose import choose
from fsql.runtime.drivers.in_memory import run_in_memory
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.runtime.drivers.cluster import Cluster
    from fsql.runtime.drivers.in_memory import SnapshotStart
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
TTL = 4 * SECOND

SCRIPT = """
CREATE TABLE a (id BIGINT, k STRING, x DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '3' SECOND)
WITH ('connector' = 'file', 'path' = 'a.jsonl');
CREATE TABLE b (id BIGINT, k STRING, x DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
WITH ('connector' = 'file', 'path' = 'b.jsonl');
SET 'table.exec.state.ttl' = '4 s';
"""


class ReadRow(NamedTuple):
    """A row as it is read: its position and its columns."""

    root: tuple[int, int]
    id: int
    k: str | None
    x: float | None


Released = tuple[tuple[int, int], dict[str, Any]]


def rows_of(case: Case, table: int) -> list[ReadRow]:
    """Return the rows of a table in the total order; their time is the greatest of their split so far."""
    found = []
    for number, split in enumerate(case.inputs[table]):
        time = -(2**62)
        for place, row in enumerate(split):
            assert isinstance(row, tuple)
            number_, key, value, at = row
            assert isinstance(at, int)
            time = max(time, at)
            found.append(ReadRow((time, table << 56 | number << 40 | place), number_, key, value))  # type: ignore[arg-type]
    return sorted(found, key=lambda row: row.root)


def groups(
    rows: Sequence[ReadRow],
    key: Callable[[ReadRow], Any],
    result: Callable[[list[ReadRow]], dict[str, Any]],
) -> Iterator[Released]:
    """Yield the changes of groups that end after their time to live."""
    last: dict[Any, int] = {}
    members: dict[Any, list[ReadRow]] = {}
    for row in rows:
        its = key(row)
        if its in last and row.root[0] - last[its] > TTL:
            del members[its]
        last[its] = row.root[0]
        group = members.setdefault(its, [])
        before = result(group) if group else None
        group.append(row)
        after = result(group)
        if before is None:
            yield row.root, {"op": "+I", **after}
        elif before != after:
            yield row.root, {"op": "-U", **before}
            yield row.root, {"op": "+U", **after}


def pairs(left: Sequence[ReadRow], right: Sequence[ReadRow]) -> list[tuple[ReadRow, ReadRow]]:
    """Return the pairs with one key of which the earlier row is still kept when the later one comes."""
    return [
        (one, other)
        for one in left
        for other in right
        if one.k is not None and one.k == other.k and abs(one.root[0] - other.root[0]) <= TTL
    ]


def of_counts(group: list[ReadRow]) -> dict[str, Any]:
    """Return a group's row of the first query."""
    return {"k": group[0].k, "n": len(group), "s": sum(row.id for row in group)}


def case_of(seed: int, query: str) -> Case:
    """Return a case over drawn rows, some of them late, with pauses about as long as the time to live."""
    random = Random(f"ttl {seed}")
    text = f"{SCRIPT}{query};"
    job = bind(parse_script(SourceText("ttl", text)), DECLARED).job
    verify_logical(job)
    inputs: dict[int, Splits] = {}
    for table in job.tables:
        splits: Splits = [[] for _ in range(random.choice((1, 2)))]
        clock = 7 * SECOND
        for number in range(random.choice((8, 16, 30))):
            clock += random.choice((0, SECOND // 2, SECOND, 2 * SECOND, TTL, TTL + 1))
            at = clock - random.choice((0, 0, 0, SECOND, 3 * SECOND))
            key, value = random.choice(("a", "b", None)), random.choice((0.5, 1.0, None))
            row: tuple[Value, ...] = (number, key, value, at)
            random.choice(splits).append(row)
        inputs[table.ordinal] = splits
    return Case(f"ttl {seed}", text, job, inputs)


COUNTS = "SELECT k, COUNT(*) AS n, SUM(id) AS s FROM a GROUP BY k"
DISTINCTS = "SELECT DISTINCT x, k FROM a WHERE id > 2"
WHOLE = "SELECT COUNT(*) AS n, MAX(id) AS last FROM a"
COMPUTED = (
    "SELECT COALESCE(k, 'none') AS k, COUNT(DISTINCT x) AS n FROM a GROUP BY COALESCE(k, 'none')"
)
JOINED = "SELECT a.id AS l, b.id AS r FROM a JOIN b ON a.k = b.k"
LEFT = "SELECT a.id AS l, b.id AS r FROM a LEFT JOIN b ON a.k = b.k AND a.id < b.id"
FULL = "SELECT a.id AS l, b.id AS r FROM a FULL JOIN b ON a.k = b.k AND a.x > 0.7"
SEMI = "SELECT id AS l FROM a WHERE k IN (SELECT k FROM b)"
ANTI = "SELECT a.id AS l FROM a LEFT ANTI JOIN b ON a.k = b.k"
GROUPED = "SELECT a.k, COUNT(*) AS n, SUM(b.id) AS s FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k"


def expected_groups(case: Case, query: str) -> list[Released]:
    """Return the changes of a query of groups over the first table."""
    rows = rows_of(case, 0)
    if query == COUNTS:
        return [*groups(rows, lambda row: row.k, of_counts)]
    if query == DISTINCTS:
        kept = [row for row in rows if row.id > 2]
        return [
            *groups(
                kept, lambda row: (row.x, row.k), lambda group: {"x": group[0].x, "k": group[0].k}
            )
        ]
    if query == WHOLE:
        return [
            *groups(
                rows,
                lambda _: None,
                lambda group: {"n": len(group), "last": max(r.id for r in group)},
            )
        ]
    return [
        *groups(
            rows,
            lambda row: row.k or "none",
            lambda group: {
                "k": group[0].k or "none",
                "n": len({row.x for row in group if row.x is not None}),
            },
        )
    ]


def expected_join(case: Case, query: str) -> Counter[tuple[int | None, ...]]:
    """Return how often each row of a join comes."""
    left, right = rows_of(case, 0), rows_of(case, 1)
    found = pairs(left, right)
    if query == LEFT:
        found = [(one, other) for one, other in found if one.id < other.id]
    if query == FULL:
        found = [(one, other) for one, other in found if (one.x or 0) > 0.7]
    matched = {one.root for one, _ in found}
    if query in {SEMI, ANTI}:
        return Counter((one.id,) for one in left if (one.root in matched) == (query == SEMI))
    made: Counter[tuple[int | None, ...]] = Counter((one.id, other.id) for one, other in found)
    if query != JOINED:
        made.update((one.id, None) for one in left if one.root not in matched)
    if query == FULL:
        others = {other.root for _, other in found}
        made.update((None, other.id) for other in right if other.root not in others)
    return made


@pytest.mark.slow
def test_groups_end_and_begin_again() -> None:
    met: Counter[str] = Counter()
    for seed, query in enumerate((COUNTS, DISTINCTS, WHOLE, COMPUTED) * 2):
        case = case_of(seed, query)
        outcome = case.expected
        released = [(tuple(root), json.loads(line)) for root, line in outcome.released[0]]
        assert released == expected_groups(case, query), case
        keys = Counter(str(row.get("k")) for _, row in released if row["op"] == "+I")
        met["again"] += max(keys.values()) > 1
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        check_layouts(case, Random(seed), met)
    assert met["again"], met
    assert met["rows restored"], met


@pytest.mark.slow
def test_rows_of_joins_are_kept_for_a_time() -> None:
    met: Counter[str] = Counter()
    for seed, query in enumerate((JOINED, LEFT, FULL, SEMI, ANTI) * 2):
        case = case_of(seed, query)
        outcome = case.expected
        rows = Counter(tuple(json.loads(line).values()) for _, line in outcome.released[0])
        assert rows == expected_join(case, query), case
        met[query] += bool(rows)
        check(case, schedules=2)
    assert all(met[query] for query in (JOINED, LEFT, FULL, SEMI, ANTI)), met


@pytest.mark.slow
def test_groups_over_joins() -> None:
    met: Counter[str] = Counter()
    for seed in range(4):
        case = case_of(seed, GROUPED)
        outcome = case.expected
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert met["rows restored"], met


class MostState:
    """Watches how many rows of state each fold of a run has at most."""

    begin: SnapshotStart | None = None
    busy: bool = False

    def __init__(self) -> None:
        self.rows: Counter[int] = Counter()

    def observe(self, cluster: Cluster) -> None:
        for worker in cluster.workers:
            for number, fold in enumerate(worker.folds.values()):
                self.rows[number] = max(self.rows[number], fold.state_rows())


@pytest.mark.parametrize("query", [COUNTS, JOINED])
def test_state_is_bounded_while_a_run_goes_on(query: str) -> None:
    most = []
    for text in (SCRIPT, SCRIPT.replace("'4 s'", "'0'")):
        job = bind(parse_script(SourceText("ttl", f"{text}{query};")), DECLARED).job
        rows: list[Any] = [(n, f"{n}", 0.5, n * SECOND) for n in range(200)]
        watcher = MostState()
        run_in_memory(
            choose(lower(job), workers=1, fronts=dict.fromkeys((t.ordinal for t in job.tables), 1)),
            {table.ordinal: [rows] for table in job.tables},
            seed=1,
            batch_rows=4,
            read_ahead=4,
            watcher=watcher,
        )
        most.append(max(watcher.rows.values()))
    bounded, kept = most
    assert 5 <= bounded <= 40
    assert kept >= 200
