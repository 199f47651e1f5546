"""Checks that a script can be deployed: it must not use standard input or output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError

if TYPE_CHECKING:
    from fsql.job.compilation import Compiled


def check_deployable(compiled: Compiled) -> None:
    """Check that a script reads no standard input and writes no standard output.

    Raises:
        FsqlError: E635, if it does: a deployed job has neither.
    """
    for insert in compiled.job.inserts:
        if dict(insert.sink.options)["connector"] == "stdout":
            message = "the script writes to standard output, which a deployed job does not have"
            helps = ("declare a table with another connector, and INSERT INTO it",)
            raise FsqlError([Diagnostic("E635", message, helps=helps)])
    for table in compiled.job.tables:
        if dict(table.options)["connector"] == "stdin":
            message = (
                f'table "{table.name}" reads standard input, which a deployed job does not have'
            )
            helps = ("read a file or a socket",)
            raise FsqlError([Diagnostic("E635", message, helps=helps)])
