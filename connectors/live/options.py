"""The options of connectors whose input is live: it arrives when it is sent, and cannot be read again."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import Effect, Option, OptionKind

NO_LIMIT: Final = "none"
MAX_AHEAD: Final = "max_ahead"
LOG_SIZE: Final = "log_mib"

CLOCK_OPTIONS: Final = (
    Option(
        "idle",
        OptionKind.DURATION,
        "after silence of this length, event time advances with the clock, this far behind it; for tables"
        " with a WATERMARK whose event times are times of the clock",
    ),
    Option(
        MAX_AHEAD,
        OptionKind.DURATION,
        "a row whose event time is ahead of the clock by more is malformed; for tables with a WATERMARK",
        (NO_LIMIT,),
        default="1 d",
    ),
)

LOG_OPTION: Final = Option(
    LOG_SIZE,
    OptionKind.POSITIVE,
    "how many MiB are kept on disk to be read again, in a job that keeps state; when it is full, the"
    " source is not read until a snapshot makes room",
    default="1024",
    greatest=1 << 40,
    effect=Effect.PACE,
)
