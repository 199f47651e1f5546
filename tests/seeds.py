"""The seeds of random tests: few by default, more on request."""

from __future__ import annotations

import os


def seeds(count: int) -> range:
    """Return the first `count` seeds, or those that FSQL_SEEDS=FIRST:LAST asks for, without LAST."""
    first, last = map(int, os.environ.get("FSQL_SEEDS", f"0:{count}").split(":"))
    return range(first, last)
