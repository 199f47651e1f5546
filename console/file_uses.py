"""Which files a job reads and writes: none is written that something else reads or writes.

A sink empties its file when it is opened.  So a slip in a path could destroy the input, and a sink inside
of a directory that is read would be input itself the next time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.runtime.connectors import paths
from fsql.runtime.connectors.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.compiler.logical import Job


@dataclass(frozen=True, slots=True)
class FileUse:
    """A path that an option of a table names, and whether it is written."""

    table: str
    option: str
    path: Path
    written: bool

    @property
    def purpose(self) -> str:
        """Return who does what with the file."""
        if not self.table:
            return "it is the script itself"
        if self.option == "path":
            return f'table "{self.table}" ' + ("writes it" if self.written else "reads it")
        return f"table \"{self.table}\" writes it as '{self.option}'"


def file_uses(job: Job, base_directory: Path, script: Path | None) -> list[FileUse]:
    """Return the paths that the job's tables name, and that of the script if it is a file."""
    return [
        *(() if script is None else (FileUse("", "", script, written=False),)),
        *(
            FileUse(table.name, option, path, written=option != "path")
            for table in job.tables
            for option, path in _named(table.options, ("path", "rejects_path"), base_directory)
        ),
        *(
            FileUse(insert.sink.name, option, path, written=True)
            for insert in job.inserts
            for option, path in _named(insert.sink.options, ("path", "late_path"), base_directory)
        ),
    ]


def _named(
    options: tuple[tuple[str, str], ...], keys: tuple[str, ...], base_directory: Path
) -> Iterator[tuple[str, Path]]:
    settings = Settings(options)
    for key in keys:
        if settings.connector.option(key) is not None:
            value = settings.optional(key)
            if value is not None:
                yield key, paths.resolve(value, base_directory, ())


def check_apart(use: FileUse, others: list[FileUse]) -> None:
    """Check that what `use` writes is nobody else's.

    Raises:
        FsqlError: E532, if it is.
    """
    for other in others:
        if other == use or not _meet(use.path, other):
            continue
        raise paths.cannot_open("E532", use.path, other.purpose, "choose another path")


def _meet(written: Path, other: FileUse) -> bool:
    if written.exists() and not written.is_file():
        return False  # a device, which anybody may write; a directory is refused by who opens it
    if written == other.path or _same_file(written, other.path):
        return True
    if other.written or not other.path.is_dir():
        return False
    return written.parent == other.path or any(_same_file(written, f) for f in other.path.iterdir())


def _same_file(one: Path, another: Path) -> bool:
    """Say whether both are there and one file, be it by another name (a hard link)."""
    try:
        return one.samefile(another)
    except OSError:
        return False
