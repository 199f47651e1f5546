"""Messages for internal errors: how to report them, and a stack trace, only with `--debug`."""

from __future__ import annotations

import platform
import traceback
from typing import TYPE_CHECKING

from fsql import __version__
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.console.reporter import print_message

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


def print_internal_error(error: BaseException, reporter: Reporter, *, debug: bool) -> None:
    """Print an internal error, and ask for a report."""
    if debug:
        print_message("".join(traceback.format_exception(error)))
    last = traceback.extract_tb(error.__traceback__)[-1]
    version = f"fsql {__version__}, Python {platform.python_version()}, {platform.platform()}"
    notes = (f"at line {last.lineno} of {last.name}", version)
    helps = ["report it with the script and, if possible, the input"]
    if not debug:
        helps.append("run it again with --debug and add the stack trace to the report")
    code, message = "I901", f"internal error: {type(error).__name__}{_reason(error)}"
    # The class is imported only here because the import is slow.
    if type(error).__name__ == "InvariantError":
        code, message = "I902", f"internal error{_reason(error)}"
    reporter.error(FsqlError([Diagnostic(code, message, notes=notes, helps=tuple(helps))]))


def _reason(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f": {lines[0]}" if lines else ""
