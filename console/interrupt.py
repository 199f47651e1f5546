"""Ctrl-C and the signal to terminate: the first ends a run between two chunks, the second at once.

Between two chunks everything that was released has been written whole, and the summary is true.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The run was asked to end."""


class Interrupt:
    """While it is entered, Ctrl-C is remembered instead of raised wherever the program happens to be."""

    def __init__(self) -> None:
        self._asked = False

    def __enter__(self) -> Self:
        """Take over from Python's own handler."""
        self._before = {number: signal.signal(number, self._remember) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give back to the handler before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Come to an end here if that was asked for.

        Raises:
            Interrupted: if it was.
        """
        if self._asked:
            raise Interrupted

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
