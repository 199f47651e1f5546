"""How many rows a worker reads at once: as many as it processes in a short time.

A node answers nothing while it processes a chunk.  A chunk that takes seconds, because rows are large or the
processor is shared with other programs, delays heartbeats until the worker seems lost.  No released byte
depends on where chunks end.
"""

from __future__ import annotations

from typing import Final

CHUNK_SECONDS: Final = 0.25
"""How long one chunk should take at most."""


class ChunkSize:
    """The number of rows of the next chunk, from the time that the chunks before it have taken."""

    def __init__(self, rows_max: int) -> None:
        """Never read more than `rows_max`."""
        self._rows_max = rows_max
        self.rows = rows_max

    def on_chunk(self, rows: int, seconds: float) -> None:
        """Record how long a chunk has taken, from its reading to its last effect."""
        if seconds > CHUNK_SECONDS:
            self.rows = min(self.rows, max(1, int(rows * CHUNK_SECONDS / seconds)))
        elif seconds < CHUNK_SECONDS / 2:
            self.rows = min(self._rows_max, self.rows * 2)
