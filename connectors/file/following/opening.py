"""Opens the inflow of the files that a table follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import FOLLOW, Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.durations import duration_us
from fsql.connectors.file.compression import codec_in
from fsql.connectors.file.following.follower import Follower, FollowOptions
from fsql.connectors.file.following.records import WholeRecords
from fsql.connectors.file.found_files import find_files, is_pattern, list_files, pattern_root
from fsql.connectors.file.options import UTF8
from fsql.connectors.settings import has_layout
from fsql.formats.factories import make_decoder
from fsql.formats.json.options import RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.connectors.file.found_files import FoundFile
    from fsql.formats.settings import Settings

_SECOND_US: Final = 1_000_000


def open_follower(table: Table, settings: Settings, context: ConnectorContext) -> Follower:
    """Return an inflow of the records of the files that a table follows.

    Raises:
        FsqlError: E531, E533 or E534, if the options are not valid.
    """
    interval_us = duration_us(settings.text(FOLLOW))
    assert interval_us is not None, "the compiler checked it"
    options = FollowOptions(
        _finder(settings, context),
        followed_root(settings, context),
        WholeRecords(make_decoder(table.columns, settings)),
        interval_us / _SECOND_US,
        settings.text("on_truncate") == "reread",
        context.on_notice,
    )
    return Follower(options)


def check_followed(settings: Settings, context: ConnectorContext, *, begun: bool) -> None:
    """Check that the files of a table can be followed; a directory or a pattern may have no files yet.

    Once a job has `begun`, a single file may also be missing for a while, for example while it is rotated.

    Raises:
        FsqlError: E531, E533 or E534, if they cannot.
    """
    if has_layout(settings, Layout.FILE):
        raise _unsupported_error(f"files of format '{settings.text('format')}' cannot be followed")
    if settings.text("compression") not in {"auto", "none"}:
        raise _unsupported_error("compressed files cannot be followed")
    if settings.text("encoding") != UTF8:
        raise _unsupported_error(f"files in {settings.text('encoding')} cannot be followed")
    if settings.connector.option(RECORDS) is not None and settings.gives(RECORDS):
        raise _unsupported_error(
            f"a document with '{RECORDS}' is not lines, and cannot be followed"
        )
    path = context.resolve(settings.text("path"))
    if not begun and not path.is_dir() and not (is_pattern(path) and pattern_root(path).is_dir()):
        find_files(path)


def followed_root(settings: Settings, context: ConnectorContext) -> Path:
    """Return the directory to which the names of followed files are relative."""
    path = context.base_directory / settings.text("path")
    if is_pattern(path):
        return pattern_root(path)
    return path if path.is_dir() else path.parent


def _finder(settings: Settings, context: ConnectorContext) -> Callable[[], Sequence[FoundFile]]:
    path, option = context.base_directory / settings.text("path"), settings.text("compression")
    pattern = is_pattern(path)

    def find() -> Sequence[FoundFile]:
        found = list_files(path, pattern=pattern)
        plain = [each for each in found if codec_in(each.path, option) is None]
        for each in plain:  # a directory may contain links to other places
            context.resolve(str(each.path))
        return plain

    return find


def _unsupported_error(reason: str) -> FsqlError:
    message = f"option '{FOLLOW}' is not supported: {reason}"
    helps = ("remove the option to read the files once",)
    return FsqlError([Diagnostic("E534", message, helps=helps)])
