"""Arranges the file descriptors of a process that was just forked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

STANDARD: Final = (0, 1, 2)
"""Standard input, output and error."""

_DESCRIPTOR_MAX: Final = 1 << 20


def take_descriptors(sources: Sequence[int], numbers: Sequence[int]) -> None:
    """Give each descriptor of `sources` its number in `numbers`, which include 0 to 2; close all others."""
    above = max(*sources, *numbers) + 1
    moved = [os.dup2(each, above + index) for index, each in enumerate(sources)]
    last = 0
    for each, number in sorted(zip(moved, numbers, strict=True), key=lambda pair: pair[1]):
        if number > STANDARD[-1]:
            os.closerange(max(last, STANDARD[-1]) + 1, number)
        os.dup2(each, number)
        last = number
    os.closerange(last + 1, _DESCRIPTOR_MAX)
