"""Joins whose hot keys are divided release the same as without, whatever runs them.

There are scripts with the hint SKEW over rows of which most have one key, and drawn scripts and plans, in
whose joins drawn keys of a drawn side become hot.  The oracle executes them without hot keys; the model, the
engine in several schedules, with ticks in between, and runs from snapshots have to release the same.

Catches pairs that are lost or made twice, in another order, or at other positions; rows that are taken back
from another part than they are in; parts that are lost with snapshots and changes of owners.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from fsql.compiler import logical
from fsql.compiler.binder.script import bind
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.node import map_children
from fsql.compiler.parser import parse_script
from fsql.compiler.sqltypes import Kind
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.runtime.kernels.join import append_only
from fsql.runtime.kernels.join.append_only import JoinKernel
from fsql.runtime.kernels.maps import parts
from fsql.tests.property.cases import Case
from fsql.tests.property.check import random_schedule
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_snapshots import cases
from fsql.tests.property.test_ticks import check_layouts
from fsql.tests.property.ways import by_engine, by_model
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.compiler.node import Node
    from fsql.runtime.batch import Batch
    from fsql.tests.property.inputs import Splits

    Ints = np.ndarray

SECOND: Final = 1_000_000
MUST_BE_MET: Final = (
    "runs that repair",
    "runs from a snapshot",
    "changes",
    "rows moved",
    "rows restored",
)
SCRIPT: Final = """
CREATE TABLE a (
    id BIGINT, k STRING, n BIGINT, seen TIMESTAMP, WATERMARK FOR seen AS seen - INTERVAL '2' SECOND
) WITH ('connector' = 'file', 'path' = 'a.jsonl');
CREATE TABLE b (
    id BIGINT, k STRING, n BIGINT, seen TIMESTAMP, WATERMARK FOR seen AS seen - INTERVAL '1' SECOND
) WITH ('connector' = 'file', 'path' = 'b.jsonl');
CREATE TABLE sink (one BIGINT, other BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT {query};
"""
RANGE: Final = "y.seen BETWEEN x.seen - INTERVAL '1' SECOND AND x.seen + INTERVAL '2' SECOND"
QUERIES: Final = (
    "{k} x.id, y.id FROM a AS x JOIN b AS y ON x.k = y.k",
    f"{{k}} y.id, x.id FROM a AS x JOIN b AS y ON x.k = y.k AND {RANGE}",
    "{n} x.id, y.id FROM a AS x, b AS y WHERE x.n = y.n AND y.k = x.k",
    "{k} x.id, y.id FROM a AS x JOIN a AS y ON x.k = y.k AND x.seen = y.seen",
    "{of_y} x.id, z.id FROM a AS x JOIN b AS y ON x.k = y.k JOIN a AS z ON z.n = y.n",
    """{of_v} v.p, y.id FROM (SELECT {perhaps} x.id AS p, y.k FROM a AS x JOIN b AS y ON x.n = y.n) AS v
    JOIN a AS y ON v.k = y.k""",
    "{k} x.id, COUNT(*) OVER (PARTITION BY x.n) FROM a AS x JOIN b AS y ON x.k = y.k",
    f"""COUNT(*), MIN(p) FROM TUMBLE((SELECT {{k}} x.id AS p, x.seen AS at FROM a AS x JOIN b AS y
    ON x.k = y.k AND {RANGE}), at, INTERVAL '3' SECOND) GROUP BY window_end""",
)
"""Names in braces are hints; `of_v` and `of_y` may divide joins of joins that are not divided."""


@pytest.fixture(autouse=True)
def each_row_has_a_part_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide the few rows of the cases; otherwise rows that follow each other are in one part."""
    monkeypatch.setattr(parts, "_BLOCK_BITS", 0)


def written_case(seed: int) -> tuple[Case, Case]:
    """Return a case in SQL with and without hints, over rows of which most have one key."""
    random = Random(f"hot {seed}")
    side, of_n = random.choice("xy"), "SKEW('{}', 'n', 1, 2)"
    hints = {
        "k": f"/*+ SKEW('{side}', 'k', 'a') */",
        "n": f"/*+ {of_n.format(side)} */",
        "perhaps": random.choice(("", f"/*+ {of_n.format(side)} */")),
        "of_v": f"/*+ SKEW('{random.choice('vy')}', 'k', 'a', 'b') */",
        "of_y": f"/*+ {random.choice(('', 'SKEW(y, k, a), '))} {of_n.format('y')} */",
    }
    query = QUERIES[seed % len(QUERIES)]
    inputs: dict[int, Splits] = {}
    found = []
    for given in (hints, dict.fromkeys(hints, "")):
        text = SCRIPT.format(query=query.format(**given))
        job = bind(parse_script(SourceText("hot", text)), DECLARED).job
        verify_logical(job)
        for table in job.tables:
            if table.ordinal not in inputs:
                inputs[table.ordinal] = _rows(random)
        found.append(Case(f"hot {seed}", text, job, inputs))
    hinted, plain = found
    plans = [plan for each in hinted.job.inserts for plan in logical.operators(each.query)]
    assert any(isinstance(plan, logical.Join) and plan.hot_keys for plan in plans), hinted
    return hinted, plain


def _rows(random: Random) -> Splits:
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 7 * SECOND
    for _ in range(random.choice((8, 16))):
        clock += random.choice((0, 0, SECOND // 2, SECOND))
        late = random.choice((0, 0, 0, SECOND, 3 * SECOND))
        key, number = random.choice(("a", "a", "a", "b", None)), random.choice((1, 1, 1, 2, None))
        random.choice(splits).append((random.randrange(100), key, number, clock - late))
    return splits


def check_written(seeds: Iterable[int], met: Counter[str]) -> None:
    """Run the written cases of seeds in all ways; see `check_divided`."""
    for seed in seeds:
        case, plain = written_case(seed)
        check_divided(case, plain, met)


def check_divided(case: Case, plain: Case, met: Counter[str]) -> None:
    """Run a case with hot keys in all ways.

    Raises:
        AssertionError: one of them releases something else than the oracle does without hot keys.
    """
    random, expected = Random(f"{case.name} ways"), plain.expected
    difference = expected.difference(case.expected)
    assert not difference, f"{case}: by the oracle: {difference}"
    difference = expected.difference(
        by_model(case.job, case.inputs, seed=random.randrange(9), workers=random.choice((1, 3)))
    )
    assert not difference, f"{case}: by the model: {difference}"
    for _ in range(2):
        schedule = random_schedule(random)
        actual, effort = by_engine(case.job, case.inputs, schedule)
        difference = expected.difference(actual)
        assert not difference, f"{case}\n{schedule}: {difference}"
        met["runs that repair"] += effort.rows_redone > 0
    if random.random() < 0.5:
        check_layouts(case, random, met)
    else:
        check_snapshots(case, expected, roots_of(case), random, met)


def may_be_divided(plan: logical.Plan) -> bool:
    """Return whether a join may have hot keys."""
    return (
        isinstance(plan, logical.Join)
        and logical.append_only(plan)
        and not logical.may_tie(plan)
        and not any(map(fallible, (*plan.left_keys, *plan.right_keys)))
        and any(key.type.kind in {Kind.STRING, Kind.BIGINT} for key in plan.left_keys)
    )


def with_hot_keys(case: Case, random: Random) -> Case | None:
    """Return a drawn case with hot keys in its joins; None if none of them may have some."""
    plans = [plan for each in case.job.inserts for plan in logical.operators(each.query)]
    if not any(map(may_be_divided, plans)):
        return None
    values = _values(case)
    changed: dict[Node, Node] = {}

    def change(node: Node) -> Node:
        if node not in changed:
            made = map_children(node, change) if isinstance(node, logical.Plan) else node
            if isinstance(made, logical.Join) and may_be_divided(made):
                made = replace(made, hot_keys=_drawn(made, random, values))
            changed[node] = made
        return changed[node]

    inserts = []
    for each in case.job.inserts:
        query = change(each.query)
        assert isinstance(query, logical.Plan)
        inserts.append(replace(each, query=query))
    job = logical.Job(tuple(inserts))
    verify_logical(job)
    return replace(case, job=job)


def _values(case: Case) -> dict[Kind, list[int | str]]:
    """Return the integers and the texts of the input, frequent ones first."""
    count: Counter[int | str] = Counter(
        value
        for splits in case.inputs.values()
        for split in splits
        for row in split
        if isinstance(row, tuple)
        for value in row
        if isinstance(value, int | str) and not isinstance(value, bool)
    )
    ordered = [value for value, _ in count.most_common()]
    return {
        Kind.BIGINT: [each for each in ordered if isinstance(each, int)],
        Kind.STRING: [each for each in ordered if isinstance(each, str)],
    }


def _drawn(
    join: logical.Join, random: Random, values: dict[Kind, list[int | str]]
) -> logical.HotKeys:
    numbers = [i for i, key in enumerate(join.left_keys) if key.type.kind in values]
    number = random.choice(numbers)
    kind = join.left_keys[number].type.kind
    found = values[kind][:8] or ([0] if kind is Kind.BIGINT else [""])
    hot = random.sample(found, random.randint(1, len(found)))
    return logical.HotKeys(number, tuple(hot), random.randrange(2), random.choice((2, 3, 16)))


@pytest.mark.slow
def test_keys_that_are_divided_by_the_hint_are_not_seen() -> None:
    met: Counter[str] = Counter()
    check_written(chosen_seeds(2 * len(QUERIES)), met)
    assert [name for name in MUST_BE_MET if not met[name]] == [], met


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_keys_that_are_divided_in_drawn_joins_are_not_seen(kind: str) -> None:
    met: Counter[str] = Counter()
    for plain in cases(kind, chosen_seeds(24)):
        case = with_hot_keys(plain, Random(f"{plain.name} hot keys"))
        if case is not None:
            met["divided"] += 1
            check_divided(case, plain, met)
    assert met["divided"], met


# The mutants.


def parts_go_by_the_place_in_the_batch(patch: pytest.MonkeyPatch) -> None:
    """A row that is taken back is in another part than it was."""
    patch.setattr(
        parts, "_part_of_position", lambda _batch, rows, count: np.arange(len(rows)) % count
    )


def one_part_has_no_copies(patch: pytest.MonkeyPatch) -> None:
    right = parts._copy

    def copy(batch: Batch, found: Ints, table: Ints) -> Batch:
        made = right(batch, found, table)
        part = made.columns[-1].to_numpy(zero_copy_only=False)
        return made.take(np.flatnonzero(~np.isin(part, table[:, 0])))

    patch.setattr(parts, "_copy", copy)


def pairs_have_an_index_in_their_part(patch: pytest.MonkeyPatch) -> None:
    """Pairs of several parts have the same index, so their columns order them."""

    def below(self: JoinKernel, later: Ints, earlier: list[Ints]) -> list[Ints]:
        index = append_only._ordinals(later, earlier)
        return [index] * (2 + self._depth) if self._combine.by_position else [index]

    patch.setattr(JoinKernel, "_below", below)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "seed"),
    [
        (parts_go_by_the_place_in_the_batch, 44),
        (one_part_has_no_copies, 0),
        (pairs_have_an_index_in_their_part, 1),
    ],
    ids=["parts by batch", "a part without copies", "an index in the part"],
)
def test_mistakes_are_found(
    mutant: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seed found the mutant when it was recorded; if cases have changed since, others are tried."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check_written((seed, *range(80)), Counter())
