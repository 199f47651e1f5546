"""The tape: every choice of a run, drawn from its seed, recorded, and replayed.

Contract.  A choice is a number in `[0, bound)`, and 0 is always the mild one: no fault, first in first
out, the least delay, the plainest setting.  Each label has its own stream, so that changing one choice does
not shift the others.  A replayed tape returns the recorded numbers, limited to the bound, and 0 after their
end.

Not promised: that a changed tape leads to a run that resembles the original.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_Item = TypeVar("_Item")

CERTAIN: Final = 1 << 20
"""Probabilities are drawn from `[0, CERTAIN)`."""


class Stream:
    """The choices under one label, in the order in which they were made."""

    __slots__ = ("_next", "_played", "values")

    def __init__(self, seed: str, played: Sequence[int] | None) -> None:
        self._next = Random(seed).random  # noqa: S311 - a schedule, not a secret
        self._played = None if played is None else iter(played)
        self.values: list[int] = []

    def below(self, bound: int) -> int:
        """Return a number in `[0, bound)`."""
        played = self._played
        value = int(self._next() * bound) if played is None else min(next(played, 0), bound - 1)
        self.values.append(value)
        return value

    def chance(self, rate: float) -> bool:
        """Return true with probability `rate`."""
        return self.below(CERTAIN) >= CERTAIN - int(rate * CERTAIN)

    def between(self, least: int, greatest: int) -> int:
        """Return a number in `[least, greatest]`."""
        return least + self.below(greatest - least + 1)

    def one_of(self, items: Sequence[_Item]) -> _Item:
        """Return one of the items; the first is the mild one."""
        return items[self.below(len(items))]


class Tape:
    """The streams of a run."""

    def __init__(self, seed: int, played: Mapping[str, Sequence[int]] | None = None) -> None:
        """Draw from `seed`, or return what `played` has for each label."""
        self.seed = seed
        self._played = played
        self._streams: dict[str, Stream] = {}

    def stream(self, label: str) -> Stream:
        """Return the stream of a label; the same one each time."""
        stream = self._streams.get(label)
        if stream is None:
            played = None if self._played is None else self._played.get(label, ())
            stream = self._streams[label] = Stream(f"{self.seed} {label}", played)
        return stream

    def choices(self) -> dict[str, list[int]]:
        """Return the choices under each label, without trailing zeros."""
        return {
            label: _trim_zeros(stream.values)
            for label, stream in sorted(self._streams.items())
            if any(stream.values)
        }


def _trim_zeros(values: Sequence[int]) -> list[int]:
    end = len(values)
    while end and values[end - 1] == 0:
        end -= 1
    return list(values[:end])
