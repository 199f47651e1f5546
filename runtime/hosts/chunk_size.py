"""How many rows a worker reads at once: as many as it processes in a short time.

A node does not send heartbeats while it processes a chunk.  If a chunk takes seconds, because rows are large
or other programs use the processor, the worker seems to be lost.  No released byte depends on where chunks
end.
"""

from __future__ import annotations

from typing import Final

CHUNK_SECONDS: Final = 0.25
"""The maximum time that one chunk should take."""


class ChunkSize:
    """Chooses the number of rows of the next chunk by the time that earlier chunks have taken."""

    def __init__(self, rows_max: int) -> None:
        """Start with chunks of at most `rows_max` rows, which remains the limit."""
        self._rows_max = rows_max
        self.rows = rows_max

    def on_chunk(self, rows: int, seconds: float) -> None:
        """Record how long a chunk has taken, from its reading to its last effect."""
        if seconds > CHUNK_SECONDS:
            self.rows = min(self.rows, max(1, int(rows * CHUNK_SECONDS / seconds)))
        elif seconds < CHUNK_SECONDS / 2:
            self.rows = min(self._rows_max, self.rows * 2)
