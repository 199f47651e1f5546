"""The lines of followed files, in the order in which they are read.

The files are searched for periodically.  In each round every file is read up to its current length: known
files in the order in which they were found, then new ones, by name.  The order is recorded in a journal next
to the front log, so a job that continues has the same rows.

A file is identified by its inode, not by its name.  A renamed file is still read, and a removed one is read
to its end; a file that then gets the name is a new file.  If the new file begins with all bytes that were
read of a removed file, a program has rewritten that file by replacing it, and reading continues after these
bytes.  A file that has lost bytes that were read stops the job, or is read from its beginning.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors import paths
from fsql.connectors.file.following.followed_file import FollowedFile, LogPart, id_of
from fsql.connectors.file.following.pieces import (
    FileId,
    FilePiece,
    base_piece,
    index_of_base,
    pieces_after,
)
from fsql.connectors.file.following.places import JOURNAL, PassedPlaces
from fsql.connectors.live.front_log import segments
from fsql.connectors.live.piece_journal import PieceJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.connectors.file.following.records import WholeRecords
    from fsql.connectors.file.found_files import FoundFile
    from fsql.connectors.live.front_log import LogWriter

_OPEN_MAX: Final = 256
"""The maximum number of files kept open, which can be read to their end after being renamed or removed."""
_RENAMED_MAX: Final = 8
"""The maximum number of files that are still read after being renamed to a name that is not followed."""


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """How files are followed.

    `find` returns the existing files, sorted by name, all in the directory `root`.  If `rereads`, a file that
    was truncated or rewritten is read from its beginning.  `on_notice` is called with notices for the user.
    """

    find: Callable[[], Sequence[FoundFile]]
    root: Path
    records: WholeRecords
    interval_seconds: float
    rereads: bool
    on_notice: Callable[[str], None]


class Follower:
    """An inflow of the records of files; see `Inflow`."""

    def __init__(
        self, options: FollowOptions, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._seconds = seconds
        self._files: dict[FileId, FollowedFile] = {}
        self._journal: PieceJournal[FilePiece] | None = None
        self._log: LogWriter | None = None
        self._length = 0
        """The number of bytes of the stream, including those that are not in the log yet."""
        self._line = 1
        """The number of the next line of the stream."""
        self.places = PassedPlaces(options.root)
        """The places of rows, unless there is a journal."""
        self._rest = b""
        self._round: Iterator[bytes] = iter(())
        self._next_round_at = seconds()

    def open_journal(self, directory: Path) -> int:
        """Open the journal next to a front log; see `ResumableInflow`.

        Raises:
            FsqlError: E532, if it cannot be read.
        """
        self._journal = PieceJournal(directory, JOURNAL, FilePiece)
        return self._journal.end

    def resume(self, log: LogWriter) -> None:
        """Continue at the end of the log, and record all further reads; see `ResumableInflow`.

        Raises:
            FsqlError: E535, if the operating system fails to read; E536, if a file has lost bytes.
        """
        assert self._journal is not None
        journal, self._log = self._journal, log
        length = self._length = log.length
        pieces = [piece for piece in journal.pieces if piece.is_in(length)]
        last = {piece.file: piece for piece in pieces[index_of_base(pieces) :]}
        try:
            self._reopen_files([piece for piece in last.values() if not piece.gone])
            if pieces:
                self._line = pieces[-1].log_line + pieces[-1].lines
            for piece in last.values():
                if piece.stop > length:
                    file = self._seek_torn(piece, length)
                    self._line = piece.log_line + file.line - piece.line
                    self._round = self._read_torn(file, piece.end)
            journal.rewrite(
                [*pieces_after(pieces, segments(log.directory)[0].start), *self._known_pieces()]
            )
            log.before_flush.append(journal.sync)
        except OSError as error:
            raise _read_error(error) from None

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return available bytes; wait up to `seconds` if there are none.

        Raises:
            FsqlError: E531, E533, E535, E536 or E543.
        """
        try:
            if not self._rest:
                self._rest = self._next()
        except OSError as error:
            raise _read_error(error) from None
        if not self._rest:
            wait = min(seconds, self._next_round_at - self._seconds())
            if wait > 0:
                threading.Event().wait(wait)
            return None
        data, self._rest = self._rest[:bytes_max], self._rest[bytes_max:]
        return data

    def close(self) -> None:
        """Close the files and the journal."""
        for file in self._files.values():
            file.close()
        if self._journal is not None:
            self._journal.close()

    def _next(self) -> bytes:
        """Return the next part of this round, or of the next one when it is due; b"" if there is none."""
        for data in self._round:
            return data
        if self._seconds() < self._next_round_at:
            return b""
        self._next_round_at = self._seconds() + self._options.interval_seconds
        self._update_files()
        self._round = self._read_all()
        return next(self._round, b"")

    def _update_files(self) -> None:
        """Update the list of followed files to those that exist now."""
        there: dict[FileId, Path] = {}
        for found in self._options.find():
            id_ = _id_at(found.path)
            if id_ is not None:
                there.setdefault(id_, found.path)
        missing = [file for id_, file in self._files.items() if id_ not in there]
        for file in missing:
            self._on_file_missing(file)
        replaced = {file.path: file for file in missing if file.removed}
        for id_, path in there.items():
            known = self._files.get(id_)
            if known is None:
                self._begin(path, replaced.get(path))
            else:
                known.path, known.renamed = path, False
        renamed = [file for file in self._files.values() if file.renamed and not file.removed]
        for file in renamed[:-_RENAMED_MAX]:
            file.removed = True

    def _on_file_missing(self, file: FollowedFile) -> None:
        if not file.is_open or file.names_count == 0:
            file.removed = True
        elif not file.renamed:
            file.renamed = True
            self._options.on_notice(
                f'file "{file.path}" was renamed: reading continues, and a new file of that name is'
                " read from its beginning"
            )

    def _begin(self, path: Path, replaced: FollowedFile | None) -> None:
        """Begin to follow a new file; `replaced` had its name, and was removed."""
        try:
            new = FollowedFile.at(path)
        except FileNotFoundError:
            return
        if new.id in self._files:
            new.close()  # a known file was renamed to this name
            return
        if replaced is not None and replaced.offset and replaced.is_open:
            new.offset, new.content = replaced.offset, replaced.content
            if new.is_unchanged():
                self._files.pop(replaced.id).take_over(new)
                replaced.removed = False
                new = replaced
            else:
                new.restart()
        self._files[new.id] = new
        self._record_offset(new)

    def _read_all(self) -> Iterator[bytes]:
        for file in list(self._files.values()):
            if file.is_open or (not file.removed and _has_changed(file)):
                yield from self._read(file)
            if file.removed:
                self._forget(file)
        self._close_some()
        if self._journal is not None and self._log is not None and self._journal.is_long:
            self._log.flush()
            first = segments(self._log.directory)[0].start
            pieces = pieces_after(self._journal.read(), first)
            self._journal.rewrite([*pieces, *self._known_pieces()])

    def _read(self, file: FollowedFile) -> Iterator[bytes]:
        """Yield the complete records of a file up to its current length."""
        size = file.size()
        if not file.is_unchanged():
            self._on_data_lost(file, size)
        header = self._length == 0
        while (
            file.offset < size
            and (part := file.next_part(self._options.records, size, with_header=header))
            is not None
        ):
            self._record(file, part)
            yield part.data
            header = False

    def _on_data_lost(self, file: FollowedFile, size: int) -> None:
        """Restart a file that has lost bytes that were read, if the options allow that.

        Raises:
            FsqlError: E536, if they do not.
        """
        what = (
            f"it has {size:,} bytes now"
            if size < file.offset
            else "its contents before that have changed"
        )
        if self._options.rereads:
            self._options.on_notice(f'file "{file.path}" is read from its beginning: {what}')
            file.restart()
            return
        raise _lost_data_error(file.path, file.offset, what)

    def _seek_torn(self, piece: FilePiece, length: int) -> FollowedFile:
        """Return the file of a piece of which the log has only a part, positioned after that part.

        Raises:
            FsqlError: E536, if the file no longer exists.
        """
        file = self._files.get(piece.file)
        if file is None:
            raise _lost_data_error(
                piece.path, piece.end, "it no longer exists, and the log lacks lines that were read"
            )
        offset = piece.begin + length - piece.start
        file.seek(offset)
        file.line = piece.line + file.read(piece.begin, offset).count(b"\n")
        return file

    def _read_torn(self, file: FollowedFile, end: int) -> Iterator[bytes]:
        """Yield the rest of a piece: complete records, as they were found before."""
        data = file.read(file.offset, end)
        whole = data if data.endswith(b"\n") else data + b"\n"
        self._record(file, LogPart(whole, file.offset, end))
        yield whole

    def _record(self, file: FollowedFile, part: LogPart) -> None:
        """Record a part, in the journal if there is one, before it is written to the log."""
        file.seek(part.end)
        lines = part.data.count(b"\n")
        at = (self._length, len(part.data), file.id, str(file.path), part.begin, part.end)
        counts = (file.line, lines, self._line)
        piece = FilePiece(*at, file.content, False, *counts)  # noqa: FBT003 - it is not gone
        self._length += len(part.data)
        self._line += lines
        file.line += lines
        if self._journal is None:
            self.places.add(piece)
        else:
            self._journal.write(piece)

    def _record_offset(self, file: FollowedFile, *, gone: bool = False) -> None:
        """Record how far a file has been read, so that it is found again even if it is renamed."""
        if self._journal is not None:
            self._journal.write(self._known_piece(file, gone=gone))

    def _forget(self, file: FollowedFile) -> None:
        """Stop following a file that was removed, or renamed before many others."""
        self._options.on_notice(self._end_of(file))
        file.close()
        del self._files[file.id]
        self._record_offset(file, gone=True)

    def _end_of(self, file: FollowedFile) -> str:
        """Say what has become of a file that is not followed any more, and of its rows."""
        read = f"its {file.offset:,} bytes have been read"
        if not file.is_open:
            return (
                f'file "{file.path}" no longer exists, and was not open because it had not grown:'
                f" {read}, and what was written to it after that was not"
            )
        if file.names_count:
            return (
                f'file "{file.path}" is not followed any more under its new name, because {_RENAMED_MAX}'
                f" others were renamed after it: {read}"
            )
        return f'file "{file.path}" was removed: {read}'

    def _close_some(self) -> None:
        """Close the files that were found first, if many are open; renamed ones stay open."""
        open_files = [file for file in self._files.values() if file.is_open and not file.renamed]
        for file in open_files[: max(len(open_files) - _OPEN_MAX, 0)]:
            file.close()

    def _known_pieces(self) -> list[FilePiece]:
        """Return pieces that record the length of the log and how far each file has been read."""
        base = base_piece(self._length, self._line)
        return [base, *(self._known_piece(file) for file in self._files.values())]

    def _known_piece(self, file: FollowedFile, *, gone: bool = False) -> FilePiece:
        """Return an empty piece at the end of the log that records how far a file has been read."""
        at = (file.offset, file.offset, file.content, gone, file.line, 0, self._line)
        return FilePiece(self._length, 0, file.id, str(file.path), *at)

    def _reopen_files(self, known: Sequence[FilePiece]) -> None:
        """Open the files of pieces; report those that no longer exist."""
        found = {_id_at(each.path): each.path for each in self._options.find()}
        for piece in known:
            file = self._reopen(piece, found)
            if file is None:
                self._options.on_notice(
                    f'file "{piece.path}" no longer exists; its contents after '
                    f"byte {piece.end:,} were not read"
                )
            else:
                self._files[file.id] = file

    def _reopen(self, piece: FilePiece, found: Mapping[FileId | None, Path]) -> FollowedFile | None:
        """Return the file of a piece: by its identity, or by its name if it has the bytes that were read."""
        old = Path(piece.path)
        path = found.get(piece.file)
        renamed = path is None
        if path is None:
            path = _with_id(old.parent, piece.file)
        for each, is_renamed in ((path, renamed), (old, False)):
            if each is None or not each.is_file():
                continue
            try:
                file = FollowedFile.at(each, piece)
            except FileNotFoundError:
                continue  # it was removed meanwhile
            if file.is_unchanged():
                file.renamed = is_renamed
                return file
            if file.id == piece.file and each == old:
                self._on_data_lost(file, file.size())
                return file
            file.close()
        return None


def _with_id(directory: Path, id_: FileId) -> Path | None:
    """Return the path of the file in a directory that has an identity."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except FileNotFoundError:
        return None
    inodes = [Path(entry.path) for entry in entries if entry.inode() == id_.inode]
    return next((path for path in inodes if _id_at(path) == id_), None)


def _id_at(path: Path) -> FileId | None:
    """Return the identity of the file at a path, None if it was removed after it was listed."""
    try:
        return id_of(path.stat())
    except FileNotFoundError:
        return None


def _has_changed(file: FollowedFile) -> bool:
    """Open a closed file if its length has changed; return whether it has, and the file exists."""
    try:
        if file.size() == file.offset:
            return False
        file.open()
    except FileNotFoundError:
        return False  # it was removed meanwhile, which the next round finds
    return True


def _lost_data_error(path: str | Path, offset: int, what: str) -> FsqlError:
    message = f'file "{path}" cannot be followed from byte {offset:,}: {what}'
    helps = (
        "restore the file, or start the job again, with an empty state directory",
        "declare 'on_truncate' = 'reread', if its lines are new ones after that",
    )
    return FsqlError([Diagnostic("E536", message, helps=helps)])


def _read_error(error: OSError) -> FsqlError:
    return paths.io_error("reading", error.filename or "a followed file", error)
