"""What a process that computes something for the page may use, and how it tells what it found."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FRAMES_PER_SECOND: Final = 4
CPU_SECONDS: Final = 300
MEMORY_BYTES: Final = 2 << 30


def limit_this_process(processor_seconds: int | None = CPU_SECONDS) -> None:
    """Limit memory and processor time, and forbid this process to write files."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails then, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    if processor_seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)


def tell(message: Mapping[str, object]) -> None:
    """Write a message to the page, as a line of JSON on standard output.

    Raises:
        BrokenPipeError: if nobody reads it any more.
    """
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
