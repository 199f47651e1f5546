"""The changes of a query that stays open: when the program inserts rows, more changes follow."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Literal, Self

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.job.changes import Result
from fsql.job.changes_display import Shown
from fsql.job.errors import raise_typed_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import RLock

    import pyarrow as pa

    from fsql.compiler.analysis.result_order import ResultKey
    from fsql.compiler.schema import Schema
    from fsql.job.result_rows import Change
    from fsql.runtime.ports import Release

Keep = Literal["changes", "table", "new"]
_MERGED_AFTER: Final = 65_536
"""Changes are applied to the kept rows of a table when there are at least this many."""


class LiveChanges(Result):
    """The final changes of an open query.

    Each change is iterated once: a loop ends when no further change is final, and a later loop continues.
    """

    def __init__(
        self,
        schema: Schema,
        order: Sequence[ResultKey],
        keep: Keep,
        lock: RLock,
        on_close: Callable[[LiveChanges], None],
    ) -> None:
        """Begin without changes; `keep` says what is kept of them, and `on_close` ends the query."""
        super().__init__(schema, order)
        self._keep = keep
        self._lock = lock
        self._on_close = on_close
        self._untaken: deque[Release] = deque()
        self._current: Iterator[Change] = iter(())
        self._log: list[Release] = []
        self._left = self._rows.concatenate([])[0]
        self._since: list[Release] = []
        self._changes_since = 0
        self._count = 0
        self._error: FsqlError | None = None
        self._ended = False
        self.late_rows = 0
        """The number of late rows of the query."""

    def on_releases(self, releases: list[Release]) -> None:
        """Add changes that have become final."""
        count = sum(len(release.time) for release in releases)
        self._count += count
        self._untaken.extend(releases)
        if self._keep == "changes":
            self._log += releases
        if self._keep != "new":
            self._since += releases
            self._changes_since += count
            if self._changes_since > max(_MERGED_AFTER, len(self._left[0])):
                self._merge()

    def on_end(self, error: FsqlError | None = None) -> None:
        """Record that no more changes follow, because of `error` if one is given."""
        self._ended = True
        self._error = error

    @property
    def ended(self) -> bool:
        """Return whether no more changes follow: all input has ended, the query failed, or it was closed."""
        return self._ended

    def close(self) -> None:
        """End the query; changes that it has released can still be read."""
        self._on_close(self)

    def __enter__(self) -> Self:
        """Return the query itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End the query."""
        self.close()

    def __iter__(self) -> Iterator[Change]:
        """Yield the changes that are final and were not yielded before.

        Raises:
            DataError: if the query has failed on a row; all changes before it have been yielded.
        """
        while True:
            with self._lock:
                change = next(self._current, None)
                while change is None and self._untaken:
                    self._current = self._rows.changes(self._untaken.popleft())
                    change = next(self._current, None)
            if change is None:
                self._raise_error()
                return
            yield change

    def changelog(self) -> pa.Table:
        """Return all changes so far: a column `op`, then the columns of the result.

        Raises:
            SessionError: if the query was opened with another `keep` than "changes".
            DataError: if the query has failed on a row.
        """
        self._check_kept("changes", self._keep == "changes")
        with self._lock:
            self._raise_error()
            return self._rows.changelog(*self._rows.concatenate(self._log))

    def table(self) -> pa.Table:
        """Return the rows after all changes so far, by ORDER BY, then in the order in which they were added.

        Raises:
            SessionError: if the query was opened with `keep="new"`.
            DataError: if the query has failed on a row.
        """
        self._check_kept("table", self._keep != "new")
        with self._lock:
            self._raise_error()
            self._merge()
            return self._rows.table(self._left)

    def _rows_to_show(self) -> Shown:
        extent: Literal["changes", "changes so far"] = (
            "changes" if self._ended else "changes so far"
        )
        with self._lock:
            self._merge()
            return Shown(self._rows.table(self._left), self._count, extent)

    def _merge(self) -> None:
        """Apply the changes since the last call to the kept rows."""
        if self._since:
            columns, operations = self._rows.concatenate(self._since, self._left)
            self._left = self._rows.net_columns(columns, operations)
            self._since, self._changes_since = [], 0

    def _raise_error(self) -> None:
        if self._error is not None:
            with raise_typed_errors():
                raise FsqlError(self._error.diagnostics, self._error.source)

    def _check_kept(self, what: str, kept: bool) -> None:  # noqa: FBT001 - the condition itself
        if not kept:
            message = f'this query keeps no {what}: it was opened with keep="{self._keep}"'
            helps = (f'open it with keep="{what}"', "or iterate over its changes")
            with raise_typed_errors():
                raise FsqlError([Diagnostic("E545", message, helps=helps)])
