"""The sink of connector `file`: a file, with a journal if the job keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.connectors import Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.file.compression import CompressedLines, codec_of
from fsql.connectors.file.line_file import LineFile
from fsql.connectors.file.options import UTF8
from fsql.connectors.file.part_files import PartFiles
from fsql.connectors.file.shard_files import ShardLines, shard_path
from fsql.connectors.file.store import FileStore
from fsql.connectors.released_lines import ReleasedLines
from fsql.connectors.settings import has_layout
from fsql.formats.factories import make_encoder, make_parts
from fsql.runtime.sink import LocalSink

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.sink import ContentsEncoder, Sink, SinkStore


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return the sink that writes the file.

    Raises:
        FsqlError: E533 or E534, if the options are not valid.
    """
    path = context.resolve(settings.text("path"))
    if settings.text("encoding") != UTF8:
        message = f"files with 'encoding' = '{settings.text('encoding')}' are read, and not written"
        raise FsqlError([Diagnostic("E534", message, helps=("remove the option",))])
    if has_layout(settings, Layout.FILE):
        parts = make_parts(sink, settings)
        return PartFiles(path, parts, context.journal, append=context.append)
    lines: ContentsEncoder
    if sink.shards is None:
        lines = ReleasedLines(make_encoder(sink, settings))
    else:
        assert context.shard is not None
        path = shard_path(path, context.shard, sink.shards)
        lines = ShardLines(sink)
    codec = codec_of(path, settings.text("compression"))
    if codec is not None:
        lines = CompressedLines(lines, codec)
    store = file_store(path, context.journal, append=context.append, compressed=codec is not None)
    return LocalSink(store, lines)


def file_store(
    path: Path, journal: Path | None, *, append: bool = False, compressed: bool = False
) -> SinkStore:
    """Return the store of lines in a file; `journal` keeps the position, if there is one.

    With `append` a new job writes at the end of the file; otherwise it empties the file.
    """
    if journal is None:
        return LineFile(path, append=append)
    return FileStore(path, journal, append=append, compressed=compressed)
