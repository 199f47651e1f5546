"""A directory of files that appear whole and never change, for formats that cannot be appended to.

File number k has the rows from k times `rows_per_file` on, so its content depends on the rows alone:
a process that writes it again, after a failure or in an older epoch, writes the same bytes.  A file is
written under another name, synced, and renamed.

Rows that do not fill a file yet are in a log next to the job's state: a bundle is appended to it, with its
end position, before it is acknowledged.  A log belongs to one epoch and one file: another epoch, or the next
file, begins a new log with the remaining rows, and removes the previous one.  An incomplete bundle in a log
is ignored.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.file.file_layer import FileLayer
from fsql.runtime.batch import END, START, Root
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.sink import LOCAL_WINDOW, OpenReply, Sequencer, SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.formats.factories import Parts
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.sink import OpenRequest

PART_NAME: Final = re.compile(r"part-(\d{8})\.\w+")
_NEW: Final = ".new"
_LOG: Final = ".rows"


class _Frame(msgspec.Struct, frozen=True):
    """The header of a bundle in a log: `first` is the number of the file to which its rows belong."""

    owner: str
    first: int
    position: tuple[int, int]
    bytes: int
    hash: str


def has_log(prefix: Path) -> bool:
    """Return whether a job that keeps state wrote its files with logs of this prefix."""
    return prefix.parent.is_dir() and bool(_logs(prefix))


def _logs(prefix: Path) -> dict[tuple[int, int], Path]:
    """Return the existing logs, by epoch and number of the file."""
    name = re.compile(re.escape(prefix.name) + r"\.(\d+)\.(\d+)" + re.escape(_LOG))
    matches = [(name.fullmatch(path.name), path) for path in prefix.parent.iterdir()]
    return {(int(found[1]), int(found[2])): path for found, path in matches if found}


class PartFiles:
    """A consumer that writes the files of one directory; without a journal it keeps no position."""

    def __init__(
        self,
        directory: Path,
        parts: Parts,
        journal: Path | None,
        *,
        append: bool = False,
        files: FileLayer | None = None,
    ) -> None:
        self._directory = directory
        self._parts = parts
        self._journal = journal
        self._append = append
        self._files = FileLayer() if files is None else files
        self._sequencer: Sequencer | None = None
        self._acknowledged: list[Root] = []
        self._rows = parts.schema.empty_table()
        self._added: list[pa.Table] = []
        self._number = 0
        self._epoch = -1
        self._owner = ""
        self._log: int | None = None
        self._log_size = 0

    @property
    def missing_reason(self) -> str | None:
        """Return None: the consumer is in this process, so it is never missing."""
        return None

    @property
    def descriptor(self) -> int | None:
        """Return None: stored bundles are acknowledged immediately."""
        return None

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch.

        Raises:
            FsqlError: E532, E535 or E537, if the directory cannot be written, or belongs to another job.
            SinkLostError: if a later epoch has begun already.
        """
        self.close()
        self._epoch, self._owner = opening.epoch, opening.owner
        self._rows, self._added, self._acknowledged = self._parts.schema.empty_table(), [], []
        try:
            self._directory.mkdir(exist_ok=True)
        except OSError as error:
            raise paths.open_error("E532", self._directory, error) from None
        try:
            position = self._resume(opening)
            if self._journal is not None:
                self._begin_log(position)
            self._write_files(position)
        except OSError as error:
            raise self._translate(error) from None
        if not opening.option.keeps_position:
            position = opening.begins
        self._sequencer = Sequencer(position)
        return OpenReply(position, LOCAL_WINDOW)

    def deliver(self, bundle: Bundle) -> None:
        """Store a bundle, or a part of one.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if the bundle does not follow, or a later epoch has begun.
        """
        sequencer = self._sequencer
        if sequencer is None:
            raise SinkLostError("the sink has failed and was not opened again")
        self._sequencer = None  # until it is stored
        if sequencer.accepts(bundle.follows, bundle.ends, bundle.part):
            if bundle.contents is not None:
                assert isinstance(bundle.contents, Released)
                self._added.append(self._parts.rows(bundle.contents.release))
            if bundle.last:
                self._commit(bundle.ends)
                sequencer.on_stored(bundle.ends)
                self._acknowledged.append(bundle.ends)
        else:
            self._acknowledged.append(sequencer.position)
        self._sequencer = sequencer

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the bundles stored since the last call."""
        acknowledged, self._acknowledged = self._acknowledged, []
        return acknowledged

    def wait(self, seconds: float) -> None:
        """Return immediately: all stored bundles are acknowledged."""

    def sync(self) -> None:
        """Make all stored rows survive a loss of power; only the log is left to sync, not complete files.

        Raises:
            FsqlError: E535, if the operating system refuses.
        """
        if self._log is None:
            return
        log = self._files.duplicate(self._log)
        try:
            self._files.sync(log)
        except OSError as error:
            raise self._translate(error) from None
        finally:
            self._files.close(log)

    def close(self) -> None:
        """Close the log; a run without state writes the remaining rows.

        Raises:
            FsqlError: E535, if the operating system refuses.
        """
        if self._sequencer is not None and self._journal is None and self._rows.num_rows:
            try:
                self._write_part(self._rows)
            except OSError as error:
                raise self._translate(error) from None
            self._rows = self._rows.slice(self._rows.num_rows)
        self._sequencer = None
        if self._log is not None:
            log, self._log = self._log, None
            self._files.close(log)

    def _resume(self, opening: OpenRequest) -> Root:
        """Restore the contents of the last log; without one, remove the files of an earlier job."""
        logs = self._logs()
        if logs and max(logs)[0] > opening.epoch:
            raise SinkLostError(f"epoch {max(logs)[0]} has begun, and this is {opening.epoch}")
        for log in sorted(logs, reverse=True):
            found = self._read_log(logs[log])
            if found is not None:
                position, self._number, self._rows = found
                if opening.option.keeps_position and position < opening.begins:
                    raise self._mismatch_error("it lacks rows that it had")
                return position
        if opening.begins != START and self._journal is not None:
            raise self._mismatch_error("its contents are not recorded")
        existing = sorted(
            path for path in self._directory.iterdir() if PART_NAME.fullmatch(path.name)
        )
        self._number = 0
        if self._append and existing:
            self._number = int(existing[-1].name[len("part-") :][:8]) + 1
        elif not self._append:
            for path in existing:
                self._files.remove(path)
        return START

    def _commit(self, position: Root) -> None:
        added = pa.concat_tables([self._parts.schema.empty_table(), *self._added])
        self._added = []
        try:
            if self._log is not None:
                if self._files.is_removed(self._log):
                    raise SinkLostError(f"a later epoch than {self._epoch} has begun")
                self._log_size = self._append_frame(self._log, self._log_size, position, added)
            self._rows = pa.concat_tables([self._rows, added])
            self._write_files(position)
        except OSError as error:
            raise self._translate(error) from None

    def _write_files(self, position: Root) -> None:
        """Write the complete files, and at the end of the input the last one; begin a log for the rest."""
        count = self._parts.rows_per_file
        started = False
        while self._rows.num_rows >= count:
            self._write_part(self._rows.slice(0, count))
            self._rows = self._rows.slice(count)
            self._number += 1
            started = True
        if started:
            self._rows = self._rows.combine_chunks()
            if self._journal is not None:
                self._begin_log(position)
        if position == END and (self._rows.num_rows or self._number == 0):
            self._write_part(self._rows)
            if self._journal is None:
                self._rows = self._rows.slice(self._rows.num_rows)  # `close` writes what is left

    def _write_part(self, rows: pa.Table) -> None:
        path = self._directory / f"part-{self._number:08}{self._parts.suffix}"
        new = path.with_name(f".{path.name}.{self._epoch}{_NEW}")
        self._files.remove(new)
        descriptor = self._files.open(new)
        try:
            self._files.write(descriptor, memoryview(self._parts.file(rows)), 0)
            self._files.sync(descriptor)
        except OSError:
            with suppress(OSError):
                self._files.remove(new)
            raise
        finally:
            self._files.close(descriptor)
        self._files.replace(new, path)
        self._files.sync_directory(self._directory)

    # The log.

    def _logs(self) -> dict[tuple[int, int], Path]:
        return {} if self._journal is None else _logs(self._journal)

    def _begin_log(self, position: Root) -> None:
        """Begin a log with the remaining rows, durably, and remove earlier logs."""
        assert self._journal is not None
        before = self._logs()
        own = (self._epoch, self._number)
        path = self._journal.with_name(f"{self._journal.name}.{own[0]}.{own[1]}{_LOG}")
        new = path.with_name(path.name + _NEW)
        self._files.remove(new)
        log = self._files.open(new)
        try:
            size = self._append_frame(log, 0, position, self._rows)
            self._files.sync(log)
            self._files.replace(new, path)
            self._files.sync_directory(path.parent)
        except BaseException:
            self._files.close(log)
            raise
        old, self._log, self._log_size = self._log, log, size
        if old is not None:
            self._files.close(old)
        for each, other in before.items():
            if each < own:
                self._files.remove(other)

    def _append_frame(self, log: int, size: int, position: Root, rows: pa.Table) -> int:
        """Write a bundle into a log after its first `size` bytes; return its new length."""
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self._parts.schema) as writer:
            writer.write_table(rows)
        data = stream.getvalue()
        frame = _Frame(
            self._owner,
            self._number,
            (position.time, position.origin),
            data.size,
            xxhash.xxh3_128_hexdigest(data),
        )
        head = msgspec.json.encode(frame) + b"\n"
        self._files.write(log, memoryview(head), size)
        self._files.write(log, memoryview(data).cast("B"), size + len(head))
        return size + len(head) + data.size

    def _read_log(self, path: Path) -> tuple[Root, int, pa.Table] | None:
        """Return position, number of the file and rows of a log; None if it has no complete bundle."""
        data = memoryview(path.read_bytes())
        found: tuple[Root, int, pa.Table] | None = None
        tables = [self._parts.schema.empty_table()]
        while (end := bytes(data[: 1 << 16]).find(b"\n")) >= 0:
            try:
                frame = msgspec.json.decode(data[:end], type=_Frame)
            except msgspec.MsgspecError:
                break
            rows = data[end + 1 : end + 1 + frame.bytes]
            if len(rows) < frame.bytes or xxhash.xxh3_128_hexdigest(rows) != frame.hash:
                break
            if frame.owner != self._owner:
                raise self._mismatch_error(f"it has rows of {frame.owner}, not of {self._owner}")
            tables.append(pa.ipc.open_stream(pa.py_buffer(rows)).read_all())
            found = Root(*frame.position), frame.first, pa.concat_tables(tables)
            data = data[end + 1 + frame.bytes :]
        return found

    def _translate(self, error: OSError) -> FsqlError | SinkLostError:
        """Return the error to raise for an error of the operating system."""
        path = error.filename or self._directory
        if error.errno in paths.FULL_DISK and self._journal is not None:
            return SinkDiskError(f'writing "{path}": {error.strerror}')
        note = "the files that it has are whole"
        return paths.io_error("writing", path, error, note, run_again=paths.OVERWRITE)

    def _mismatch_error(self, reason: str) -> FsqlError:
        message = f'output "{self._directory}" does not match the position of the job: {reason}'
        helps = (
            "restore the directory",
            "or start again with an empty state directory",
        )
        return FsqlError([Diagnostic("E537", message, helps=helps)])
