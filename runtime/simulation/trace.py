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
        self._unsettled: list[tuple[int, str, str, str, bool]] = []
        """What happened and is neither in the digest nor among the last yet."""

    def happened(
        self, time_us: int, place: str, what: str, *, to: str = "", fault: bool = False
    ) -> None:
        """Note that something happened."""
        self._unsettled.append((time_us, place, to, what, fault))
        if len(self._unsettled) == KEPT:
            self._settle()

    def _settle(self) -> None:
        unsettled, self._unsettled = self._unsettled, []
        lines = [f"{time_us} {place} {to} {what}\n" for time_us, place, to, what, _ in unsettled]
        self._digest.update("".join(lines).encode())
        self._last.extend(map(Happening._make, unsettled))

    @property
    def digest(self) -> str:
        """Return a digest of all that happened."""
        self._settle()
        return self._digest.hexdigest()

    def last(self, count: int = KEPT) -> Sequence[Happening]:
        """Return the last happenings, oldest first."""
        self._settle()
        return list(self._last)[-count:]
