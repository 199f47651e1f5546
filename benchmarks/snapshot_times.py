"""When snapshots were written, seen from outside: by the manifests in a job's state directory."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_LOOK_SECONDS: Final = 0.02


class SnapshotTimes:
    """Looks at a state directory, in a thread, as long as a `with` lasts."""

    def __init__(self, state: Path) -> None:
        """Look at `state`, which need not be there yet."""
        self._manifests = state / "snapshots"
        self._seen: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="fsql-bench-snapshots", daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def longest_without(self, begin: float, end: float) -> float:
        """Return the longest time between `begin` and `end` in which there was no new one."""
        times = [begin, *(at for at in self._seen.values() if begin < at < end), end]
        return max(after - before for before, after in pairwise(sorted(times)))

    def _look(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            for manifest in self._manifests.glob("*.json"):
                self._seen.setdefault(manifest.name, time.monotonic())
