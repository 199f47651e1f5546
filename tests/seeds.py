"""How much random tests try: as much as meets everything that the property is about, and more on request.

FSQL_SEEDS=1000:2000 has tests with seeds try those from 1000 on, without 2000; FSQL_EXAMPLES=3 has tests over
examples that Hypothesis draws try three times as many.
"""

from __future__ import annotations

import os


def chosen_seeds(count: int) -> range:
    """Return the first `count` seeds, or those that are asked for."""
    first, last = map(int, os.environ.get("FSQL_SEEDS", f"0:{count}").split(":"))
    return range(first, last)


def seed_ranges(count: int) -> list[range]:
    """Return the seeds in ranges of at most `count`, each of which has to meet everything: one by default."""
    chosen = chosen_seeds(count)
    return [chosen[start : start + count] for start in range(0, len(chosen), count)]


def examples(count: int) -> int:
    """Return `count`, or as many times as that as are asked for."""
    return count * int(os.environ.get("FSQL_EXAMPLES", "1"))
