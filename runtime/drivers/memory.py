"""Memory of a worker process: memory that a batch has freed is kept for the next batch.

NumPy allocates the arrays of a batch with the C library, which by default returns large blocks to the
system as soon as they are free; the next batch then faults every page in again.  For batches of 300,000
elements, that takes a third of the time of map functions (`fsql.benchmarks.maps`: 94 ns a word instead
of 67).  Arrow has its own allocator, which keeps freed memory.

Python's garbage collector stops the job for up to 50 ms to examine all loaded objects.  The state of a job
consists of columns, strings and numbers, which form no cycles.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_BLOCK_BYTES_MAX: Final = 32 << 20
"""Blocks up to this size come from the heap; this is the maximum that glibc accepts."""
_FREE_BYTES_MAX: Final = 512 << 20
"""Free memory at the top of the heap that is kept."""


_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000
"""Far more objects than one batch has at the same time."""


_OBJECTS_WHILE_IDLE: Final = 1_000
_YOUNG_COLLECTIONS_MAX: Final = 20


def collect_less_often() -> None:
    """Exclude all present objects from the garbage collector, and run it less often.

    They are not examined before: of a compiled script, little is garbage, and a collection takes 30 ms.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, _YOUNG_COLLECTIONS_MAX, _YOUNG_COLLECTIONS_MAX)


def collect_while_idle() -> None:
    """Collect garbage among the new objects if there are many: 0.2 ms now instead of 3 to 5 ms later.

    The oldest generation is left to the collector itself.
    """
    objects, collections, _ = gc.get_count()
    if objects >= _OBJECTS_WHILE_IDLE:
        gc.collect(1 if collections >= _YOUNG_COLLECTIONS_MAX else 0)


def keep_freed_memory() -> bool:
    """Make the C library keep freed memory; return whether it does (glibc does)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    kept = mallopt(_M_MMAP_THRESHOLD, _BLOCK_BYTES_MAX) and mallopt(
        _M_TRIM_THRESHOLD, _FREE_BYTES_MAX
    )
    return bool(kept)
