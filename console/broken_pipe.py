"""Standard output that its reader has closed, as in `fsql run … | head`.

This is not an error: the run ends without a message.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import FsqlError


def is_broken_pipe(error: FsqlError) -> bool:
    """Return whether an error is due to a closed pipe."""
    # The sink reports E535; the error of the operating system is its cause.
    return isinstance(error.__context__, BrokenPipeError)


def discard_standard_output() -> None:
    """Redirect standard output to the null device, so that the flush at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
