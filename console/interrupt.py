"""Ctrl-C and SIGTERM: the first ends a run between two chunks, the second at once.

Between two chunks everything that was released has been written whole, and the summary is true.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The run was asked to end, by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number
        """What shells return of a process that a signal ended."""


class Interrupt:
    """While it is entered, signals are remembered instead of acting wherever the program happens to be."""

    def __init__(self) -> None:
        self._asked: int | None = None

    def __enter__(self) -> Self:
        """Take over from the handlers before."""
        self._before = [(each, signal.signal(each, self._remember)) for each in _SIGNALS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give back to them."""
        for each, handler in self._before:
            signal.signal(each, handler)

    def check(self) -> None:
        """Come to an end here if that was asked for.

        Raises:
            Interrupted: if it was.
        """
        if self._asked is not None:
            raise Interrupted(self._asked)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._asked is not None:
            raise KeyboardInterrupt
        self._asked = number
