"""The trace: what happened, as a digest of all of it and the last of it in full."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import xxhash

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT: Final = 400
"""How many happenings are kept to be shown."""


class Happening(NamedTuple):
    """Something that happened: at `place`, or on the way from `place` to `to`."""

    time_us: int
    place: str
    to: str
    what: str
    fault: bool


class Trace:
    """What happened in a run; two runs are the same if their digests are."""

    def __init__(self) -> None:
        self._digest = xxhash.xxh3_128()
        self._last: deque[Happening] = deque(maxlen=KEPT)

    def happened(
        self, time_us: int, place: str, what: str, *, to: str = "", fault: bool = False
    ) -> None:
        """Note that something happened."""
        self._digest.update(f"{time_us} {place} {to} {what}\n".encode())
        self._last.append(Happening(time_us, place, to, what, fault))

    @property
    def digest(self) -> str:
        """Return a digest of all that happened."""
        return self._digest.hexdigest()

    def last(self, count: int = KEPT) -> Sequence[Happening]:
        """Return the last happenings, oldest first."""
        return list(self._last)[-count:]
