"""Ctrl-C and SIGTERM: the first signal ends a run between two chunks, the second one immediately.

Between two chunks, all released rows have been written, and the summary is correct.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):  # noqa: N818 - not an error
    """A signal asked the run to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number
        """The exit code of a process that a signal ended, as reported by shells."""


@contextmanager
def exit_if_interrupted() -> Iterator[None]:
    """End the command without a message if a signal asked it to end."""
    try:
        yield
    except Interrupted as interrupted:
        click.get_current_context().exit(interrupted.exit_code)


class Interrupt:
    """A context in which signals are recorded and only take effect at `check`."""

    def __init__(self) -> None:
        self._asked: int | None = None

    def __enter__(self) -> Self:
        """Install the signal handlers."""
        self._before = [(each, signal.signal(each, self._remember)) for each in _SIGNALS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the previous signal handlers."""
        for each, handler in self._before:
            signal.signal(each, handler)

    def check(self) -> None:
        """End the run here if a signal was received.

        Raises:
            Interrupted: if so.
        """
        if self._asked is not None:
            raise Interrupted(self._asked)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._asked is not None:
            raise KeyboardInterrupt
        self._asked = number
