"""Waiting for descriptors to become readable."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_SELECT_MAX: Final = 1_024
"""FD_SETSIZE: `select` takes descriptors below this number only."""


def wait_readable(descriptors: Collection[int], seconds: float | None) -> list[int]:
    """Return the readable descriptors; wait up to `seconds` until there is one, or forever if it is None.

    A descriptor whose other end is closed counts as readable.
    """
    if max(descriptors) < _SELECT_MAX:
        # select() has a timeout in microseconds; poll() rounds up to milliseconds.
        return select.select(descriptors, [], [], seconds)[0]
    waiting = select.poll()
    for descriptor in descriptors:
        waiting.register(descriptor, select.POLLIN)
    ready = waiting.poll(None if seconds is None else seconds * 1000)
    return [descriptor for descriptor, _ in ready]
