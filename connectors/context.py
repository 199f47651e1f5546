"""The context of a run that sources and sinks receive."""

from __future__ import annotations

import sys
import time
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from fsql.compiler.records import dataclass
from fsql.connectors import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from fsql.connectors.memory.source import GrowingRows


class OutputStream(Protocol):
    """A target for bytes, such as a binary stream."""

    def write(self, data: memoryview, /) -> object:
        """Write all of the bytes."""

    def flush(self) -> object:
        """Write buffered bytes."""


def ignore_notice(note: str) -> None:
    """Report nothing."""
    del note


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    """The run that a source or a sink belongs to.

    `clock` returns the seconds that a generator uses for its rate.  `stdin` is the descriptor of standard
    input, `stdout` the stream for standard output.  If the directory `front_logs` is given, input that cannot
    be read again is read through its log there.  `journal` is the prefix of the path at which a sink keeps
    its position; without one the sink belongs to a run without state.  With `append` a new job appends
    to its files; otherwise it empties them.  `memory` has the rows of the tables that the calling program
    supplies, by the name of the table.  `columns_read` has the columns that the job uses, by the name of the
    table; if a table is not in it, all of its columns may be used.  `shard` is the number of the shard that
    a sink writes, if its table is sharded.  `on_notice` is called with notices for the user about live input,
    in the thread that reads it.
    """

    base_directory: Path
    data_roots: Sequence[Path] = ()
    clock: Callable[[], float] = time.monotonic
    stdin: int = 0
    stdout: OutputStream | None = None
    front_logs: Path | None = None
    journal: Path | None = None
    append: bool = False
    memory: Mapping[str, pa.Table | GrowingRows] = field(default_factory=dict)
    columns_read: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shard: int | None = None
    on_notice: Callable[[str], None] = ignore_notice

    def resolve(self, path: str) -> Path:
        """Resolve the path given by an option.

        Raises:
            FsqlError: E531 or E533, if it does not exist, or is outside the data roots.
        """
        return paths.resolve(path, self.base_directory, self.data_roots)

    def standard_output(self) -> OutputStream:
        """Return the stream that is standard output."""
        return self.stdout or sys.stdout.buffer
