"""The log of an agent, which is its standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LOG_BYTES_MAX: Final = 16 << 20
"""A log that is larger is copied to one more file, and begins anew."""


def log_line(text: str) -> None:
    """Write a line with the time to the log; on a full disk, leave it out."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
    with suppress(OSError):
        sys.stderr.write(f"{when} {text}\n")
        sys.stderr.flush()


def bound_log(path: Path) -> None:
    """Begin the log of an agent anew if it is too large; to be called often.

    It is cut, not renamed: all that write to it append, also processes that have inherited it.  A line may be
    lost that is written while it is copied.
    """
    with suppress(OSError):  # on a full disk there is no copy
        if path.stat().st_size <= LOG_BYTES_MAX:
            return
        with suppress(OSError):
            shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)
