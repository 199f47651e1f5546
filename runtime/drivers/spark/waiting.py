"""Waits for Spark without being held by it: signals end a run while Spark starts, computes or stops."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

Result = TypeVar("Result")

STOP_SECONDS: Final = 10.0
"""How long Spark may take to stop after its work."""
ABANDON_SECONDS: Final = 3.0
"""The same after a signal or an error, when jobs may be running."""

_ASK_SECONDS: Final = 0.2


def nothing() -> None:
    """Do nothing while Spark is waited for."""


class Waiting:
    """Calls Spark in a thread; `meanwhile` is called several times a second, and may raise an error.

    Then the call is abandoned: it ends with the session.  In the main thread, a signal would interrupt the
    protocol of PySpark, or would have no effect before Spark answers.
    """

    def __init__(self, meanwhile: Callable[[], None] = nothing) -> None:
        self.meanwhile = meanwhile
        self._thread = ThreadPoolExecutor(1, "spark")

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do not wait any more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def for_result(self, work: Callable[[], Result]) -> Result:
        """Return the result of a function."""
        future = self._thread.submit(work)
        while not wait([future], _ASK_SECONDS).done:
            self.meanwhile()
        return future.result()

    def for_each(self, work: Callable[[], Iterable[Result]]) -> Iterator[Result]:
        """Yield the elements of an iterable that a function returns."""
        iterator = self.for_result(lambda: iter(work()))
        while next_ := self.for_result(lambda: list(islice(iterator, 1))):
            yield next_[0]


def within(seconds: float, work: Callable[[], object]) -> None:
    """Call a function, and return when it has ended or failed, but at the latest after some seconds."""

    def call() -> None:
        with suppress(Exception):
            work()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
