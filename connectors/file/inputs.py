"""Checks the files of a table without decoding them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.connectors import FOLLOW, Layout
from fsql.connectors.file.found_files import find_files
from fsql.connectors.file.metadata import partition_names
from fsql.connectors.file.partitions import searched_path
from fsql.connectors.settings import has_layout

if TYPE_CHECKING:
    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings


def count_inputs(table: Table, settings: Settings, context: ConnectorContext) -> int | None:
    """Return how many files the path of a table names; None if opening them would check more.

    It does if the files are followed, have partition columns, or columns that are found by a header.

    Raises:
        FsqlError: E531, if there is no such file; E533, if it may not be read.
    """
    partitions = partition_names(table.options)
    if FOLLOW in dict(table.options) or partitions or has_layout(settings, Layout.FILE):
        return None
    if settings.connector.option("header") is not None:
        return None
    settings.record_bytes_max()
    files = find_files(searched_path(context.resolve(settings.text("path")), partitions))
    for file in files:
        context.resolve(str(file.path))
    return len(files)
