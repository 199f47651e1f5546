"""The option of connectors whose input cannot be read again."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import Option, OptionKind

LOG_OPTION: Final = Option(
    "log_mib",
    OptionKind.POSITIVE,
    "how many MiB are kept on disk to be read again, in a job that keeps state; when it is full, the"
    " source is not read until a snapshot makes room",
    default="1024",
    greatest=1 << 40,
)
