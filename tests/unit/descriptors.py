"""The open descriptors of this process, for tests that leave none open."""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 30.0
"""How long a descriptor may stay open that another thread has opened for a moment."""


def open_descriptors() -> set[tuple[int, str]]:
    """Return the numbers of the open descriptors, each with what it is open on.

    Garbage is collected first: what other tests have left in cycles may have descriptors, too.
    """
    gc.collect()
    return _listed()


def left_open(before: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return the descriptors that were opened since then and stay open.

    They are not counted: the garbage collector, or a thread, may close others meanwhile.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while (opened := _listed() - before) and time.monotonic() < end:
        time.sleep(0.01)
    return opened


def _listed() -> set[tuple[int, str]]:
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(
            FileNotFoundError
        ):  # the listing itself, or one that another thread has closed
            found.add((int(each.name), str(each.readlink())))
    return found
