"""How much random tests try: a little by default, more on request.

FSQL_SEEDS=FIRST:LAST has tests with seeds try those from FIRST on, without LAST; FSQL_EXAMPLES=3 has tests
over examples that Hypothesis draws try three times as many.
"""

from __future__ import annotations

import os


def seeds(count: int) -> range:
    """Return the first `count` seeds, or those that are asked for."""
    first, last = map(int, os.environ.get("FSQL_SEEDS", f"0:{count}").split(":"))
    return range(first, last)


def examples(count: int) -> int:
    """Return `count`, or as many times as that as are asked for."""
    return count * int(os.environ.get("FSQL_EXAMPLES", "1"))
