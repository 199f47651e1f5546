"""Reduces a failing run: replaces choices of its tape by zeros while the run still fails.

Zero is the mild choice, so the remaining choices are those that the failure needs.  This is delta debugging:
whole labels are tried first, then halves, and so on down to single choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Choices = Mapping[str, Sequence[int]]


def shrink(choices: Choices, fails: Callable[[Choices], bool], *, runs_max: int) -> Choices:
    """Return choices for which `fails` still holds, with as many zeros as `runs_max` runs can find."""
    current = {label: list(values) for label, values in choices.items()}
    runs = 0
    for size in _sizes(current):
        for label, start, end in list(_chunks(current, size)):
            if runs == runs_max:
                return current
            values = current[label]
            if not any(values[start:end]):
                continue
            tried = {**current, label: [*values[:start], *[0] * (end - start), *values[end:]]}
            runs += 1
            if fails(tried):
                current = tried
    return current


def choices_left(choices: Choices) -> int:
    """Return how many choices are not zero."""
    return sum(value != 0 for values in choices.values() for value in values)


def _sizes(choices: Choices) -> Iterator[int]:
    """Yield the sizes of chunks to try: the longest stream as a whole, its halves, ... single choices."""
    size = max(map(len, choices.values()), default=0)
    while size:
        yield size
        size //= 2


def _chunks(choices: Choices, size: int) -> Iterator[tuple[str, int, int]]:
    for label, values in choices.items():
        for start in range(0, len(values), size):
            yield label, start, min(start + size, len(values))
