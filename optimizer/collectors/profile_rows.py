"""Profiles from rows of counts: shared by all collectors of profiles, which differ in how they sum.

The reader of a split yields rows of counts (`CountedRow`).  Rows of one group, which have equal values in
`KEYS`, are merged: counts are added, and the greatest `greatest` and the least `text` are kept.  All values
are integers and texts, so the result depends neither on the order of rows nor on how they are partitioned.

| kind       | name     | side | number | first   | second   | third   | greatest         | text |
|------------|----------|------|--------|---------|----------|---------|------------------|------|
| `BIN`      | operator | side | bin    | rows    |          |         | rank of its keys |      |
| `KEY`      | operator | side | hash   | rows    |          |         |                  | key  |
| `SIDE`     | operator | side |        | error of each key  | | |                  |      |
| `OPERATOR` | operator |      |        | rows in | rows out | busy ns |                  |      |
| `SPLIT`    | table    |      | split  | rows    | bytes    | busy ns |                  |      |

The number of keys is estimated from the greatest rank in each bin, as HyperLogLog does (Flajolet et al.,
2007): the rank of a key is the index of the first 1 among the bits of its hash that do not select its bin.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fsql.compiler.owner_map import BINS
from fsql.optimizer.profile import BinRows, HotKey, OperatorRows, Profile, SideRows, SplitRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BIN: Final = "bin"
KEY: Final = "key"
SIDE: Final = "side"
OPERATOR: Final = "operator"
SPLIT: Final = "split"
FAILED: Final = "failed"
"""Instead of counts: the error of a task."""
MISSING: Final = "missing"
"""Instead of counts: the name of a column that a table of Spark does not have."""

KEYS: Final = ("kind", "name", "side", "number")
SUMS: Final = ("first", "second", "third")
HEAVY_MAX: Final = 64
"""The maximum number of heavy keys that are kept for each side."""
_ALPHA: Final = 0.7213 / (1 + 1.079 / BINS)
"""Corrects the bias of the harmonic mean."""
_FEW: Final = 2.5
"""With fewer keys than this multiple of the number of bins, empty bins give a better estimate than ranks."""


class CountedRow(NamedTuple):
    """A row of counts; see above."""

    kind: str
    name: str
    side: int = 0
    number: int = 0
    first: int = 0
    second: int = 0
    third: int = 0
    greatest: int = 0
    text: str = ""


class SparkTable(NamedTuple):
    """A table by its name in Spark, the columns to read, and those by which a partition is sorted."""

    name: str
    columns: tuple[str, ...]
    order: tuple[str, ...]


Read: TypeAlias = "Callable[[int], Iterable[CountedRow]]"
"""Returns the rows of counts of a split, by its number."""
Collect: TypeAlias = "Callable[[Sequence[int], Read], list[CountedRow]]"
"""A collector: returns the merged rows of some splits."""


def collect_here(splits: Sequence[int], read: Read) -> list[CountedRow]:
    """The built-in collector: return the merged rows of some splits, read one after the other."""
    return merge(row for number in splits for row in read(number))


def merge(rows: Iterable[CountedRow]) -> list[CountedRow]:
    """Return one row for each group, in the order of the groups."""
    found: dict[tuple[object, ...], CountedRow] = {}
    for row in rows:
        group = row[: len(KEYS)]
        before = found.get(group)
        found[group] = row if before is None else _sum(before, row)
    return [row for _, row in sorted(found.items())]


def _sum(one: CountedRow, other: CountedRow) -> CountedRow:
    return one._replace(
        first=one.first + other.first,
        second=one.second + other.second,
        third=one.third + other.third,
        greatest=max(one.greatest, other.greatest),
        text=min(one.text, other.text),
    )


def profile_of(rows: Sequence[CountedRow]) -> Profile:
    """Return the profile of merged rows."""
    of_kind: dict[str, list[CountedRow]] = {}
    for row in rows:
        of_kind.setdefault(row.kind, []).append(row)
    bins, errors = of_kind.get(BIN, []), of_kind.get(SIDE, [])
    return Profile(
        tuple(BinRows(each.name, each.side, each.number, each.first) for each in bins),
        tuple(_heavy(of_kind.get(KEY, []), errors)),
        tuple(_side(bins, each) for each in errors),
        tuple(
            OperatorRows(each.name, each.first, each.second, each.third / 1e9)
            for each in of_kind.get(OPERATOR, [])
        ),
        tuple(
            SplitRows(each.name, each.number, each.first, each.second, each.third / 1e9)
            for each in of_kind.get(SPLIT, [])
        ),
    )


def _heavy(keys: Sequence[CountedRow], sides: Sequence[CountedRow]) -> Iterable[HotKey]:
    for side in sides:
        found = [
            HotKey(each.name, each.side, each.number, each.text, each.first, side.first)
            for each in keys
            if (each.name, each.side) == (side.name, side.side)
        ]
        yield from sorted(sorted(found, key=lambda each: (-each.rows, each.hash))[:HEAVY_MAX])


def _side(bins: Sequence[CountedRow], side: CountedRow) -> SideRows:
    own = [each for each in bins if (each.name, each.side) == (side.name, side.side)]
    ranks = [each.greatest for each in own]
    return SideRows(side.name, side.side, sum(each.first for each in own), number_of_keys(ranks))


def number_of_keys(ranks: Sequence[int]) -> int:
    """Return an estimate of the number of keys, from the greatest rank in each bin that has any."""
    empty = BINS - len(ranks)
    estimate = _ALPHA * BINS * BINS / (empty + math.fsum(0.5**rank for rank in ranks))
    if empty and estimate <= _FEW * BINS:
        estimate = BINS * math.log(BINS / empty)
    return round(estimate)
