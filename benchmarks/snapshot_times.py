"""When snapshots were written, seen from outside: by the manifests in a job's state directory."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_POLL_SECONDS: Final = 0.02


class SnapshotTimes:
    """Polls a state directory in a thread, for the duration of a `with` block."""

    def __init__(self, state: Path) -> None:
        """Watch `state`, which need not exist yet."""
        self._manifests = state / "snapshots"
        self._seen: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="fsql-bench-snapshots", daemon=True)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the thread."""
        self._over.set()
        self._thread.join()

    def longest_without(self, begin: float, end: float) -> float:
        """Return the longest time between `begin` and `end` in which there was no new one."""
        seen = list(self._seen.values())  # the thread may add to them
        times = [begin, *(at for at in seen if begin < at < end), end]
        return max(after - before for before, after in pairwise(sorted(times)))

    def _poll(self) -> None:
        while not self._over.wait(_POLL_SECONDS):
            for manifest in self._manifests.glob("*.json"):
                self._seen.setdefault(manifest.name, time.monotonic())
