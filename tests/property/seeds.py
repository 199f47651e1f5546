"""Which seeds a property is checked with.

The suite has as many as meet everything that the property is about; what is rarer is for long runs, which
name the seeds: FSQL_SEEDS=1000:2000.
"""

from __future__ import annotations

import os


def chosen_seeds(count: int) -> range:
    """Return the seeds to run: the first `count`, or those that the environment names."""
    first, last = map(int, os.environ.get("FSQL_SEEDS", f"0:{count}").split(":"))
    return range(first, last)


def seed_ranges(count: int, ranges: int = 1) -> list[range]:
    """Return the seeds to run, in ranges of at most `count`, each of which has to meet everything.

    Args:
        ranges: how many ranges the suite runs.
    """
    wanted = chosen_seeds(count * ranges)
    return [wanted[start : start + count] for start in range(0, len(wanted), count)]
