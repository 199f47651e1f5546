"""Checks of scripts by the library: that there is a result, and that processes can run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.result_order import result_order
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.job.functions import functions_of
from fsql.job.program_functions import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.analysis.result_order import ResultKey
    from fsql.compiler.schema import Schema
    from fsql.job.compilation import Compiled


def result_columns(compiled: Compiled) -> Schema:
    """Return the columns of the result of a script.

    Raises:
        FsqlError: E314, if it writes tables.
    """
    inserts = compiled.job.inserts
    if len(inserts) == 1 and inserts[0].sink.name == "stdout":
        return inserts[0].sink.columns
    span = compiled.syntax.statements[-1].span
    message = "a script that writes tables has no result to return"
    helps = ("end it with a SELECT, and write no table", "or run it: fsql.run(script)")
    diagnostic = Diagnostic("E314", message, Label(span), helps=helps)
    raise FsqlError([diagnostic], compiled.syntax.source)


def order_of_result(compiled: Compiled) -> tuple[ResultKey, ...]:
    """Return by which columns the current rows of the one result of a script are ordered."""
    # The job as bound: rules may move the columns.
    (insert,) = compiled.bound.inserts
    return result_order(insert.query)


def check_processes_can_run(compiled: Compiled, tables: Iterable[str]) -> None:
    """Check that a script, which is passed `tables`, uses nothing that exists only in this program.

    Raises:
        FsqlError: E542 for a table, E411 for a function.
    """
    for name in sorted(tables):
        message = (
            f'table "{name}" is in the memory of this program, and other processes cannot read it'
        )
        helps = (
            "run the script without processes, state and delivery",
            "or write the table to a file, and declare it in the script",
        )
        raise FsqlError([Diagnostic("E542", message, helps=helps)])
    # The job as bound: rules fold calls of constants.
    for entry in functions_of(compiled.bound):
        module, _, name = entry.partition(":")
        if module == PROGRAM:
            message = (
                f'function "{name}" is in the memory of this program, and other processes cannot'
                " call it"
            )
            folder = "put it in a module of a folder: Session(functions=[…])"
            raise FsqlError([Diagnostic("E411", message, helps=(folder,))])
