"""All results of a job, at one position.

The position is the greatest up to which the logs of all results were read.  It never goes back: a log has
released rows only, which no failure takes back.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.records import dataclass
from fsql.connectors.results.log import journals
from fsql.job.results.log_reader import LogGoneError, LogReader
from fsql.job.results.position import text_of
from fsql.runtime.batch import START, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from fsql.job.results.result_schema import ResultSchema

ROWS_MAX: Final = 1_000_000
"""How many of the last rows of a result that only grows are kept, at least."""
KEEP_BYTES: Final = 64 << 20
"""How much of a log stays for readers that want changes, after it was rewritten."""
_REWRITE_BYTES: Final = 128 << 20
_LIST_SECONDS: Final = 0.5
LOCK: Final = "results.lock"


@dataclass(frozen=True, slots=True)
class AsOf:
    """The position of an answer, and when the job has released what is below it."""

    root: Root
    reached: float
    """Seconds since 1970; 0 if that is not known."""

    @property
    def position(self) -> str:
        """Return the position as text."""
        return text_of(self.root)

    @property
    def event_time_us(self) -> int | None:
        """Return the time of the position, in microseconds since 1970; None at the beginning and the end."""
        return None if self.position in {"begin", "end"} else self.root.time


class JobResults:
    """The results of one job, by the state directory of the job; several threads may use it."""

    def __init__(self, state: Path, name: str = "", rows_max: int = ROWS_MAX) -> None:
        """Take the state directory; `name` is the name of the job in messages."""
        self.state = state
        self.name = name or str(state)
        self._directory = state / "positions"
        self._rows_max = rows_max
        self._readers: dict[str, LogReader] = {}
        self._lock = threading.RLock()
        self._listed = float("-inf")
        self._as_of = AsOf(START, 0.0)
        self._scanned: dict[str, tuple[Root, list[pa.Array]]] = {}
        """The columns of all rows of a result, and their position."""

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()

    # Following the job.

    def refresh(self) -> AsOf:
        """Read what the job has released since, as far as all results have it; return the position."""
        with self._lock:
            while self._poll():
                pass
            return self._as_of

    def _poll(self) -> bool:
        """Read a part of the logs; return whether there may be more."""
        try:
            self._list()
            more = [reader.poll() for reader in self._readers.values()]
        except LogGoneError:
            # Another process has rewritten the logs, or the job has begun anew.
            self.close()
            self._listed = float("-inf")
            return False
        joined = [each for each in self._readers.values() if each.read.root >= self._as_of.root]
        if not joined:
            return any(more)
        least = min((reader.read for reader in joined), key=lambda read: read.root)
        for reader in joined:
            reader.advance(least.root)
        if least.root > self._as_of.root:
            self._as_of = AsOf(least.root, least.reached_us / 1e6)
        elif least.reached_us and not self._as_of.reached:
            self._as_of = AsOf(self._as_of.root, least.reached_us / 1e6)
        return any(more)

    def _list(self) -> None:
        """Open the logs that are new, and close those that are gone."""
        now = time.monotonic()
        if now - self._listed < _LIST_SECONDS:
            return
        self._listed = now
        found = {journal.name: journal for journal in journals(self._directory)}
        for name in self._readers.keys() - found.keys():
            self._readers.pop(name).close()
        for name, journal in found.items():
            if name not in self._readers:
                with suppress(LogGoneError):
                    self._readers[name] = LogReader(journal, self._rows_max)

    def wait_until(self, root: Root, seconds: float) -> bool:
        """Wait until everything below a position is read; return whether it is."""
        end = time.monotonic() + seconds
        while self.refresh().root < root:
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True

    # Reading.

    @contextmanager
    def at_rest(self) -> Iterator[AsOf]:
        """Hold the position: what is read inside belongs to it."""
        with self._lock:
            yield self._as_of

    @property
    def as_of(self) -> AsOf:
        """Return the position of all results."""
        with self._lock:
            return self._as_of

    def tables(self) -> list[ResultSchema]:
        """Return the schemas of all results, sorted by name."""
        with self._lock:
            joined = [each for each in self._readers.values() if self._has_joined(each)]
            return sorted((each.schema for each in joined), key=lambda schema: schema.table)

    def _has_joined(self, reader: LogReader) -> bool:
        return reader.has_header and reader.applied == self._as_of.root

    def row_count(self, table: str) -> int:
        """Return how many rows a result has."""
        with self._lock:
            return self._reader(table).current.live

    def dropped_rows(self, table: str) -> int:
        """Return how many of the first rows of a result that only grows are not kept any more."""
        with self._lock:
            return self._reader(table).current.dropped

    def key_of(self, table: str) -> tuple[int, ...] | None:
        """Return the columns by which rows of a result are found, None if there is no key."""
        with self._lock:
            header = self._reader(table).header
            return None if header.appends or not header.key else header.key

    def rows_of_key(self, table: str, key: Sequence[pa.Array]) -> list[pa.Array]:
        """Return the columns of the rows with one key."""
        with self._lock:
            found = self._reader(table).current.rows_of_key(key)
            assert found is not None
            return found

    def all_rows(self, table: str) -> list[pa.Array]:
        """Return the columns of all rows of a result, in the order in which they were last changed."""
        with self._lock:
            known = self._scanned.get(table)
            if known is not None and known[0] == self._as_of.root:
                return known[1]
            columns = self._reader(table).current.all_rows()
            self._scanned[table] = (self._as_of.root, columns)
            return columns

    def schema(self, table: str) -> ResultSchema:
        """Return the schema of a result."""
        with self._lock:
            return self._reader(table).schema

    def journal(self, table: str) -> Path:
        """Return the prefix of the paths of a log."""
        with self._lock:
            return self._reader(table).journal

    def _reader(self, table: str) -> LogReader:
        for reader in self._readers.values():
            if self._has_joined(reader) and reader.header.table == table:
                return reader
        raise self.unknown_error(table)

    def unknown_error(self, table: str) -> FsqlError:
        """Return the error for a result that there is not."""
        names = [schema.table for schema in self.tables()]
        message = f'job "{self.name}" has no result "{table}"'
        near = near_name(table, names)
        helps = () if near is None else (f'did you mean "{near}"?',)
        if names and near is None:
            helps = (f"its results are {', '.join(names)}",)
        if not names:
            helps = ("write what is to be asked to a table WITH ('connector' = 'results')",)
        return FsqlError([Diagnostic("E672", message, helps=helps)])

    # Rewriting.

    def rewrite_if_long(self, least_bytes: int = _REWRITE_BYTES, keep: int = KEEP_BYTES) -> int:
        """Rewrite logs that have become much longer than their rows; return how many were rewritten.

        One process of the machine does so at a time.
        """
        rewritten = 0
        with self._lock:
            for reader in list(self._readers.values()):
                if self._has_joined(reader) and reader.bytes_to_apply() > least_bytes:
                    with _hold(self.state / LOCK) as held:
                        if held:
                            reader.rewrite(keep)
                            rewritten += 1
        return rewritten


@contextmanager
def _hold(path: Path) -> Iterator[bool]:
    """Hold a lock if no other process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)
