"""The files that a job reads and writes: a file that is written must have no other use.

With `--overwrite` a sink empties its file.  So a wrong path could destroy the input, and a file written into
a directory that is read would be input of the next run.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fsql.compiler.connectors import Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors import paths
from fsql.connectors.file.found_files import is_pattern
from fsql.connectors.file.journal import has_journal
from fsql.connectors.file.metadata import partition_names
from fsql.connectors.file.output_files import Existing, check_existing, locked_output
from fsql.connectors.file.part_files import has_log
from fsql.connectors.file.partitions import searched_path
from fsql.connectors.file.shard_files import shard_path
from fsql.connectors.file.store import written_length
from fsql.connectors.settings import has_layout, settings_of
from fsql.job.option_spans import locate_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.compiler.logical import Job, SinkTable
    from fsql.job.compilation import Compiled

_JOURNAL_NAME_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class FileUse:
    """A path that an option of a table names.

    `journal` names the journal of the output of a job with state; it is None for a file that is only read.
    If `directory`, files are written into a directory.  If `overwritten`, a new job replaces what is there.
    """

    table: str
    option: str
    path: Path
    journal: str | None = None
    directory: bool = False
    overwritten: bool = False

    @property
    def written(self) -> bool:
        """Return whether the job writes the file."""
        return self.journal is not None

    @property
    def purpose(self) -> str:
        """Return the use of the file, for messages."""
        if not self.table:
            return "it is the script itself"
        if self.option == "path":
            return f'table "{self.table}" ' + ("writes it" if self.written else "reads it")
        return f"table \"{self.table}\" writes it as '{self.option}'"


class FileUses:
    """The files of one job: those of its tables, and its script if it is a file."""

    def __init__(self, compiled: Compiled) -> None:
        self._syntax = compiled.syntax
        script = compiled.script
        self._uses = _uses(compiled.job, script.base_directory, script.path)

    @property
    def journals(self) -> set[str]:
        """Return the names of the journals of all files that the job writes."""
        return {use.journal for use in self._uses if use.journal is not None}

    def check(self) -> None:
        """Check that no file that is written has another use.

        Raises:
            FsqlError: E532.
        """
        for use in self._uses:
            if use.written:
                with locate_errors(self._syntax, use.table, use.option):
                    self.check_apart(use)

    def check_kept(self, journals: Path) -> None:
        """Check that no file is empty or missing that had rows: the path of its table may have changed.

        The journals in the directory `journals` say which had rows.

        Raises:
            FsqlError: E537, if one is.
        """
        for use in self._uses:
            if use.journal is None:
                continue
            path, journal = use.path, journals / use.journal
            has_rows = has_log(journal) if use.directory else written_length(journal) > 0
            if has_rows and (not path.exists() or (path.is_file() and not path.stat().st_size)):
                reason = "it has none of the rows that the job has written"
                message = f'output "{path}" does not match the position of the job: {reason}'
                helps = (
                    "stop the job, move the file there, and repeat the command",
                    "or write another table, which begins at the position of the change",
                )
                with locate_errors(self._syntax, use.table, use.option):
                    raise FsqlError([Diagnostic("E537", message, helps=helps)])

    @contextmanager
    def lock(self, existing: Existing, journals: Path | None = None) -> Iterator[list[int]]:
        """Lock each file that the job writes until the end of the block; return the locked descriptors.

        `existing` says how files that are not empty are handled, unless INSERT says it.  It is ignored for
        files that have a journal in the directory `journals`, because the job itself has written them.

        Raises:
            FsqlError: E532, E540 or E542.
        """
        with ExitStack() as locks:
            descriptors = []
            for use in self._uses:
                if use.journal is None:
                    continue
                with locate_errors(self._syntax, use.table, use.option):
                    descriptors.append(
                        locks.enter_context(locked_output(use.path, directory=use.directory))
                    )
                    if journals is None or not _has_rows(journals / use.journal):
                        how = Existing.OVERWRITE if use.overwritten else existing
                        check_existing(use.path, how)
            yield [each for each in descriptors if each is not None]

    def check_apart(self, use: FileUse) -> None:
        """Check that a file that `use` writes has no other use.

        Raises:
            FsqlError: E532, if it is.
        """
        for other in self._uses:
            if other != use and _meet(use, other):
                raise paths.open_error("E532", use.path, other.purpose, "choose another path")

    def of(self, table: str, option: str) -> list[FileUse]:
        """Return the files that an option of a table names: none, one, or those of its shards."""
        return [use for use in self._uses if (use.table, use.option) == (table, option)]


def journal_name(kind: str, table: str, shard: str = "") -> str:
    """Return the name of the journal of an output of a table, which is the same after a change of the script.

    `shard` is the name of a shard, as `shard_name` gives it.
    """
    name = quote(table, safe="")
    if len(name) > _JOURNAL_NAME_MAX:
        name = f"{name[:_JOURNAL_NAME_MAX]}-{hashlib.sha256(table.encode()).hexdigest()[:16]}"
    return f"{kind}-{name}" + (f"@{shard}" if shard else "")  # `@` is not in a quoted name


def shard_name(shard: int, shards: int) -> str:
    """Return the name of a shard, which contains the number of shards: with another number, all are new."""
    return f"{shard}-of-{shards}"


def _uses(job: Job, base_directory: Path, script: Path | None) -> list[FileUse]:
    return [
        *(() if script is None else (FileUse("", "", script),)),
        *(
            FileUse(
                table.name,
                option,
                path,
                None if option == "path" else journal_name("rejects", table.name),
            )
            for table in job.tables
            for option, path in _named_paths(
                table.options, ("path", "rejects_path"), base_directory
            )
        ),
        *(use for insert in job.inserts for use in _written_files(insert.sink, base_directory)),
    ]


def _written_files(sink: SinkTable, base_directory: Path) -> Iterator[FileUse]:
    """Yield the files of a table that is written."""
    directory = has_layout(settings_of(sink.options), Layout.FILE)
    again = sink.overwrites
    for option, path in _named_paths(sink.options, ("path", "late_path"), base_directory):
        if option == "late_path":
            journal = journal_name("late", sink.name)
            yield FileUse(sink.name, option, path, journal, overwritten=again)
        elif sink.shards is None:
            journal = journal_name("insert", sink.name)
            yield FileUse(sink.name, option, path, journal, directory, overwritten=again)
        else:
            for shard in range(sink.shards):
                journal = journal_name("insert", sink.name, shard_name(shard, sink.shards))
                part = shard_path(path, shard, sink.shards)
                yield FileUse(sink.name, option, part, journal, overwritten=again)


def _has_rows(journal: Path) -> bool:
    return has_journal(journal) or has_log(journal)


def _named_paths(
    options: tuple[tuple[str, str], ...], keys: tuple[str, ...], base_directory: Path
) -> Iterator[tuple[str, Path]]:
    settings = settings_of(options)
    for key in keys:
        if settings.connector.option(key) is not None:
            value = settings.optional(key)
            if value is not None:
                path = paths.resolve(value, base_directory, ())
                yield key, searched_path(path, partition_names(options)) if key == "path" else path


def _meet(use: FileUse, other: FileUse) -> bool:
    written = use.path
    if use.directory:
        return (
            written == other.path
            or written in other.path.parents
            or _same_file(written, other.path)
        )
    if written.exists() and not written.is_file():
        return False  # devices may have several uses; directories are refused when they are opened
    if written == other.path or _same_file(written, other.path):
        return True
    if not other.written and is_pattern(other.path):
        return written.match(str(other.path))
    if other.written or not other.path.is_dir():
        return False
    return written.parent == other.path or any(_same_file(written, f) for f in other.path.iterdir())


def _same_file(one: Path, another: Path) -> bool:
    """Return whether both paths exist and are one file, for example by a hard link."""
    try:
        return one.samefile(another)
    except OSError:
        return False
