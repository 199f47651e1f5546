"""The consumer of a benchmark: the reference consumer in a thread, which notes when what arrived.

Rows are kept in memory, in the order and under the positions that they came with.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.connectors.stream_stores import NullStore
from fsql.connectors.tcp.proofs import consumer_key
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.runtime.batch import Root, origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.connectors.tcp.reference import StoredRows

    Floats = np.ndarray[Any, np.dtype[np.float64]]

_SERVE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became complete when, in seconds of the machine's monotonic clock."""

    at: float
    ends: Root


class _MemoryStore(NullStore):
    """Keeps bytes in memory; those of a bundle count when it is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self._added: list[bytes] = []

    def append(self, data: Sequence[memoryview]) -> None:
        """Keep the bytes until their bundle is whole."""
        self._added += map(bytes, data)

    def commit(self, position: Root) -> None:
        """Keep the bytes for good."""
        self.pieces += self._added
        self._added = []
        super().commit(position)


class Arrivals:
    """Listens, stores arriving rows with their times; must be closed."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self._store = _MemoryStore()
        self._server = ConsumerServer(
            ("127.0.0.1", 0), self._store, self._on_stored, key=consumer_key(None)
        )
        self.address = "{}:{}".format(*self._server.address)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="fsql-bench-consumer", daemon=True)
        self._thread.start()

    @property
    def lines(self) -> bytes:
        """Return all that came, in order."""
        return b"".join(self._store.pieces)

    def at(self, documents: int) -> Floats:
        """Return when the last change record of each document had come; NaN for one that is not there.

        Document i is row i of the only split of the only table, so its position is known.
        """
        arrivals = list(self.arrivals)
        complete = [min(_documents_below(each.ends), documents) for each in arrivals]
        indices = np.searchsorted(complete, np.arange(1, documents + 1))
        times = np.array([each.at for each in arrivals] + [np.nan])
        return times[indices]

    def close(self) -> None:
        """End the thread and hang up."""
        self._closing = True
        self._thread.join()
        self._server.close()

    def _on_stored(self, stored: StoredRows) -> None:
        self.arrivals.append(Arrival(time.monotonic(), stored.ends))

    def _serve(self) -> None:
        while not self._closing:
            self._server.serve(_SERVE_SECONDS)


def _documents_below(bound: Root) -> int:
    """Return how many documents lie below a position: their times are their numbers."""
    time_ = max(bound.time, 0)
    return time_ + (bound > Root(time_, origin(0, 0, time_)))
