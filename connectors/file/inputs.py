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


def check_inputs(table: Table, settings: Settings, context: ConnectorContext) -> bool:
    """Check that the path of a table names files; return whether opening them would check no more.

    It does if the files are followed, have partition columns, or columns that are found by a header.

    Raises:
        FsqlError: E531, if there is no such file; E533, if it may not be read.
    """
    partitions = partition_names(table.options)
    if FOLLOW in dict(table.options) or partitions or has_layout(settings, Layout.FILE):
        return False
    if settings.connector.option("header") is not None:
        return False
    settings.record_bytes_max()
    for file in find_files(searched_path(context.resolve(settings.text("path")), partitions)):
        context.resolve(str(file.path))
    return True
