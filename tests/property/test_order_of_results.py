"""ORDER BY of a whole result is what its definition says, on every way and from snapshots.

Scripts are drawn with views that join, group, rank and retract; one of them is read in a drawn order.
By the definition, the rows are those of the result without ORDER BY when the input has ended, sorted one key
after the other; rows that are equal in all keys are in the total order, or in that of all their columns if
they can be retracted.  Catches rows that are lost, doubled or released too early, wrong places of NULL,
and an order that depends on when rows come.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fsql.compiler import logical
from fsql.compiler.diagnostics import FsqlError
from fsql.tests.property.cases import written_case
from fsql.tests.property.check import check
from fsql.tests.property.mixed_scripts import SORTED, random_mixed_script
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.order import order_key, row_key
from fsql.tests.reference.relations import END
from fsql.tests.seeds import seed_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.tests.property.cases import Case
    from fsql.tests.reference.relations import Values


class Key(NamedTuple):
    """A column by which rows are ordered."""

    column: int
    descending: bool
    nulls_first: bool


def drawn_case(seed: int) -> tuple[Case, Case, list[Key]]:
    """Return a case with ORDER BY, the same one without, and the keys.

    Raises:
        FsqlError: the binder refuses the script.
    """
    random = Random(f"order of results {seed}")
    writer = random_mixed_script(random)
    kept = [each for each in writer.relations if not each.updating]
    ordered = random.choice(kept) if kept and random.random() < 0.4 else writer.relations[-1]
    writer.insert(ordered)
    columns = ordered.columns
    able = [index for index, column in enumerate(columns) if column.letter in SORTED]
    chosen = random.sample(able, k=min(len(able), random.choice((1, 1, 2, 3))))
    keys = [Key(index, random.random() < 0.5, random.random() < 0.5) for index in chosen]
    state = random.getstate()
    unordered = written_case(random, f"order-of-results {seed}", writer)
    if keys:
        order = ", ".join(
            f"{random.choice((columns[key.column].name, str(key.column + 1)))}"
            f" {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for key in keys
        )
        writer.statements[-1] = f"{writer.statements[-1].removesuffix(';')} ORDER BY {order};"
    random.setstate(state)
    return written_case(random, f"order-of-results {seed}", writer), unordered, keys


def rows_of(case: Case) -> Sequence[Values]:
    """Return the rows of the result of a case, when its input has ended."""
    query = case.job.inserts[-1].query
    oracle = Oracle(case.job, case.inputs, literal=False)
    return [row.values for row in oracle.relations.relation(query, END)]


def in_order(rows: Sequence[Values], keys: Sequence[Key], *, updating: bool) -> list[Values]:
    """Return rows, which are in the total order, as ORDER BY defines it."""
    found = sorted(rows, key=row_key) if updating else list(rows)
    for key in reversed(keys):
        some = [row for row in found if row[key.column] is not None]
        nulls = [row for row in found if row[key.column] is None]
        # A sort in descending order keeps the order of equal rows as well.
        some.sort(key=lambda row: order_key(row[key.column]), reverse=key.descending)
        found = [*nulls, *some] if key.nulls_first else [*some, *nulls]
    return found


def by_time(case: Case, keys: Sequence[Key]) -> bool:
    """Return whether rows are released as event time advances, and can be late."""
    query = case.job.inserts[-1].query
    column = query.schema[keys[0].column]
    return not keys[0].descending and column.time_attribute and logical.append_only(query)


@pytest.mark.parametrize("seeds", seed_ranges(8), ids=str)
def test_a_result_is_in_its_order(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        try:
            case, unordered, keys = drawn_case(seed)
        except FsqlError:
            met["not bound"] += 1
            continue
        if not keys or by_time(unordered, keys):
            continue
        updating = not logical.append_only(unordered.job.inserts[-1].query)
        expected = in_order(rows_of(unordered), keys, updating=updating)
        assert rows_of(case) == expected, case
        met["updating" if updating else "append-only"] += 1
        met["rows"] += len(expected)
        met["ties"] += len({tuple(row[key.column] for key in keys) for row in expected}) < len(
            expected
        )
        check(case, schedules=1)
        check_snapshots(case, case.expected, roots_of(case), Random(seed), met)
    assert [name for name in ("updating", "append-only", "rows", "ties") if not met[name]] == [], (
        met
    )
    assert met["not bound"] * 5 <= len(seeds)
