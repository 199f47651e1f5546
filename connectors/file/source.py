"""The source of connector `file`: each file is a split.

A reader reads large blocks, cuts them into lines, and decodes as many lines at a time as are requested.
Rows and their numbers depend on the bytes only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import FOLLOW, Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.durations import duration_us
from fsql.compiler.records import dataclass
from fsql.connectors.file.compression import codec_in
from fsql.connectors.file.contents import bytes_from, first_bytes, open_blocks
from fsql.connectors.file.encodings import EncodedBlocks
from fsql.connectors.file.evolution import with_columns_of_all
from fsql.connectors.file.found_files import find_files
from fsql.connectors.file.look_ahead import LookAheadSplit
from fsql.connectors.file.metadata import (
    MetadataSplit,
    metadata_of,
    partition_names,
    partition_values,
    record_columns,
)
from fsql.connectors.file.options import UTF8
from fsql.connectors.file.partitions import searched_path
from fsql.connectors.live.options import NO_LIMIT
from fsql.connectors.settings import has_layout
from fsql.connectors.streams.line_reader import LineReader, read_header
from fsql.connectors.streams.replay import not_replayable
from fsql.formats.factories import make_decoder, make_split
from fsql.formats.settings import RECORD_BYTES_CAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.connectors.live.inflows import Inflow
    from fsql.formats.factories import FileSplit as WholeFile
    from fsql.formats.lines import LineDecoder, Lines, RecordCutter
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import SourceOffset, Split

BLOCK_BYTES: Final = 1 << 22
_HEADER_BLOCK_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file of lines; it is read from its beginning, or from a source offset."""

    name: str
    path: Path
    decoder: Callable[[], LineDecoder]
    codec: str | None = None
    block_bytes: int = BLOCK_BYTES
    encoding: str = UTF8
    elsewhere: frozenset[str] = frozenset()
    """The names of the columns that other files of the table have; one that this one lacks is NULL."""

    def open(self, source_offset: SourceOffset | None = None) -> LineReader:
        """Return a reader at the first row, or at `source_offset`.

        Raises:
            FsqlError: E531, if the file cannot be opened; E535, if it cannot be read;
                E543, if it lacks columns; E536, if it is not the file that was read before.
        """
        decoder = self.decoder()
        self._take_header(decoder)
        cutter = self._document_cutter(decoder)
        if cutter is not None and source_offset is not None:
            cutter = _ContinuedCutter(cutter, self.path, source_offset)
        blocks = open_blocks(
            self.path,
            self.codec,
            self.block_bytes,
            source_offset,
            encoding=self.encoding,
            from_start=cutter is not None,
        )
        places = blocks if isinstance(blocks, EncodedBlocks) else None
        return LineReader(blocks, decoder, source_offset, places=places, cutter=cutter)

    def check(self) -> None:
        """Check that the columns can be found, if the file has a header.

        Raises:
            FsqlError: E531, E535 or E543, if they cannot.
        """
        self._take_header(self.decoder())

    def first_bytes(self, count: int) -> bytes:
        """Return up to about `count` of the first bytes, decompressed and as UTF-8.

        Raises:
            FsqlError: E531, if the file cannot be opened; E535, if it cannot be read.
        """
        return first_bytes(self.path, self.codec, count, self.encoding)[0]

    def bytes_from(self, byte: int, count: int) -> bytes:
        """Return up to `count` bytes from an offset on, decompressed.

        Raises:
            FsqlError: E531, if the file cannot be opened; E535, if it cannot be read.
        """
        return bytes_from(self.path, self.codec, byte, count)

    def _document_cutter(self, decoder: LineDecoder) -> RecordCutter | None:
        """Return the cutter of records that are not lines, None for lines."""
        if not decoder.takes_documents:
            return None
        start, whole = first_bytes(self.path, self.codec, _HEADER_BLOCK_BYTES, self.encoding)
        cutter = decoder.document_cutter(start, whole=whole)
        if cutter is None and not whole and b"\n" not in start:
            start, whole = first_bytes(self.path, self.codec, RECORD_BYTES_CAP, self.encoding)
            cutter = decoder.document_cutter(start, whole=whole)
        return cutter

    def column_types(self) -> dict[str, str] | None:
        """Return the names in the header, each with "" as its type; None if there is none.

        Raises:
            FsqlError: E531, E535 or E543, if they cannot be read.
        """
        decoder = self.decoder()
        header = self._header(decoder)
        if header is None:
            return None
        return dict.fromkeys(decoder.header_names(header, str(self.path)), "")

    def with_elsewhere(self, names: frozenset[str]) -> FileSplit:
        """Return the split of one of several files, which have the columns with these names."""
        return replace(self, elsewhere=names)

    def _take_header(self, decoder: LineDecoder) -> None:
        header = self._header(decoder)
        if header is not None:
            decoder.take_header(header, str(self.path), ordered=False, elsewhere=self.elsewhere)

    def _header(self, decoder: LineDecoder) -> bytes | None:
        """Return the first line, if it is a header and there is one."""
        if not decoder.has_header:
            return None
        blocks = open_blocks(self.path, self.codec, _HEADER_BLOCK_BYTES, encoding=self.encoding)
        try:
            return read_header(blocks, decoder)
        finally:
            blocks.close()


class _ContinuedCutter:
    """Cuts a source from its beginning, and passes over the records before a source offset."""

    def __init__(self, cutter: RecordCutter, path: Path, source_offset: SourceOffset) -> None:
        self._cutter = cutter
        self._path = path
        self._source_offset = source_offset
        self._left = source_offset.row

    @property
    def seen_bytes(self) -> int:
        """See `RecordCutter`."""
        return self._cutter.seen_bytes

    @property
    def line_byte(self) -> int:
        """See `RecordCutter`."""
        return self._cutter.line_byte

    def feed(self, block: bytes) -> list[Lines]:
        """See `RecordCutter`.

        Raises:
            FsqlError: E536, if the records before the offset are other ones now.
        """
        return list(self._following(self._cutter.feed(block)))

    def finish(self) -> list[Lines]:
        """See `RecordCutter`.

        Raises:
            FsqlError: E536, if the records before the offset are other ones now.
        """
        return list(self._following(self._cutter.finish()))

    def _following(self, parts: Sequence[Lines]) -> Iterator[Lines]:
        for part in parts:
            passed = min(self._left, len(part))
            self._left -= passed
            if passed and part.byte + int(part.ends[passed - 1]) > self._source_offset.byte:
                reason = "the record that ended there now continues"
                raise not_replayable(self._path, self._source_offset, reason)
            if passed < len(part):
                yield part.slice(passed, len(part))


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the files that the path names as splits, sorted by name; one split if they are followed.

    Raises:
        FsqlError: E531, E533, E534, E535 or E543, if they cannot be opened.
    """
    if FOLLOW in dict(table.options):
        return [_followed_split(table, settings, context)]
    path = context.resolve(settings.text("path"))
    found = find_files(searched_path(path, partition_names(table.options)))
    for file in found:  # a directory may contain links to other places
        context.resolve(str(file.path))
    columns, keys = record_columns(table), metadata_of(table)
    splits: Sequence[FileSplit | WholeFile]
    if has_layout(settings, Layout.FILE):
        if settings.text("encoding") != UTF8:
            message = f"files of format '{settings.text('format')}' have no 'encoding'"
            raise FsqlError([Diagnostic("E534", message, helps=("remove the option",))])
        read = context.columns_read.get(table.name)
        splits = [make_split(name, path, columns, settings, read) for name, path in found]
    else:
        decoder, option = make_decoder(columns, settings), settings.text("compression")
        encoding = settings.text("encoding")
        splits = [
            FileSplit(name, path, decoder, codec_in(path, option), encoding=encoding)
            for name, path in found
        ]
    if len(splits) > 1:
        splits = with_columns_of_all(splits)
    for split in splits:
        split.check()
    rows: Sequence[FileSplit | WholeFile | MetadataSplit] = splits
    if keys:
        rows = [MetadataSplit(each, keys, partition_values(table, each.path)) for each in splits]
    ahead = dict(table.options).get("max_ahead", NO_LIMIT)
    limit_us = None if ahead == NO_LIMIT else duration_us(ahead)
    return rows if limit_us is None else [LookAheadSplit(each, limit_us) for each in rows]


def open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> Inflow:
    """Return the records of the files that the table follows.

    Raises:
        FsqlError: E531, E533 or E534, if the options are not valid.
    """
    from fsql.connectors.file.following.opening import open_follower  # few tables follow files

    return open_follower(table, settings, context)


def _followed_split(table: Table, settings: Settings, context: ConnectorContext) -> Split:
    """Return the files that the path names as one split that grows, read directly or through its log.

    Raises:
        FsqlError: E531, E533 or E534, if they cannot be followed.
    """
    from fsql.connectors.file.following.opening import check_followed, followed_root
    from fsql.connectors.file.following.places import LoggedPlaces
    from fsql.connectors.live.live_splits import front_log_of, live_split

    log = None if context.front_logs is None else front_log_of(context.front_logs, table)
    check_followed(settings, context, begun=log is not None and log.exists())
    root = followed_root(settings, context)
    places = None if log is None else LoggedPlaces(log, root)
    name = PurePath(settings.text("path")).name
    return live_split(name, table, settings, context, root=root, places=places)
