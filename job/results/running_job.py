"""The library's view of a running job: queries over its results, and their changes.

job = fsql.attach("orders")
answer = job.query("SELECT * FROM best WHERE item = 'vase'")
print(answer.rows, answer.position)
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from fsql.job.errors import raise_typed_errors
from fsql.job.results.answers import Limits, answer
from fsql.job.results.position import position_of
from fsql.job.results.subscriptions import Subscription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.job.results.answers import Answer
    from fsql.job.results.job_results import JobResults
    from fsql.job.results.subscriptions import Changes

_POLL_SECONDS: Final = 0.01


class RunningJob:
    """A job whose results are read from its state directory, while it runs and afterwards."""

    def __init__(self, results: JobResults, limits: Limits | None = None) -> None:
        self._results = results
        self._limits = Limits() if limits is None else limits

    @property
    def results(self) -> list[str]:
        """Return the names of the results."""
        self._results.refresh()
        return [schema.table for schema in self._results.tables()]

    @property
    def position(self) -> str:
        """Return the position of the results."""
        return self._results.refresh().position

    def query(self, query: str, *, at_least: str | None = None) -> Answer:
        """Return the rows of a SELECT over the results, all as of one position.

        Args:
            query: one SELECT.
            at_least: a position of an earlier answer, to be waited for.

        Raises:
            QueryError: for errors in the query.
            ClusterError: if it is not a query over results, takes too much, or the position is not reached.
        """
        with raise_typed_errors():
            return answer(self._results, query, self._limits, at_least)

    def changes(
        self, result: str, *, after: str | None = None, seconds: float | None = None
    ) -> Iterator[Changes]:
        """Yield the changes of a result from a position on, as the job releases them.

        Args:
            result: the name of the result.
            after: the position of the changes that were dealt with; without one, the first changes are the
                rows that the result has.
            seconds: how long to wait for further changes; without it, until the results of the job end.

        Raises:
            ClusterError: if there is no such result, or the changes are not kept any more.
        """
        with raise_typed_errors():
            start = None if after is None else position_of(after)
            subscription = Subscription(self._results, result, start)
        try:
            idle_since = time.monotonic()
            while True:
                with raise_typed_errors():
                    found = subscription.next()
                if found is not None:
                    idle_since = time.monotonic()
                    yield found
                elif subscription.position == "end" or (
                    seconds is not None and time.monotonic() - idle_since >= seconds
                ):
                    return
                else:
                    time.sleep(_POLL_SECONDS)
        finally:
            subscription.close()

    def close(self) -> None:
        """Close the files."""
        self._results.close()

    def __enter__(self) -> Self:
        """Return the job."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the files."""
        self.close()
