"""Standard output whose reader has had enough, as in `fsql run … | head`.

That is no error: the reader got what he wanted, and the run ends quietly.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import FsqlError


def is_broken_pipe(error: FsqlError) -> bool:
    """Say whether the error is that nobody reads what is written any more."""
    # The sink says what it was doing (E535), in place of what the operating system said.
    return isinstance(error.__context__, BrokenPipeError)


def discard_standard_output() -> None:
    """See to it that Python, which flushes standard output when it ends, does not complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
