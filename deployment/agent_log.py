"""The log of an agent, which is its standard error."""

from __future__ import annotations

import sys
import time
from contextlib import suppress


def log_line(text: str) -> None:
    """Write a line with the time to the log; on a full disk, leave it out."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
    with suppress(OSError):
        sys.stderr.write(f"{when} {text}\n")
        sys.stderr.flush()
