"""`fsql logs`: prints the log of a job, and follows it."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.deployment.directory import JobDirectory

_POLL_SECONDS: Final = 0.2
_SECONDS_END: Final = 253_402_300_800
"""The end of the year 9999, in seconds since 1970."""


def print_logs(job: JobDirectory, lines: int, *, follow: bool, as_json: bool) -> None:
    """Print the last lines of a log; with `follow`, also later lines, until the job is dropped."""
    offset, known = 0, deque[str](maxlen=lines)
    for line, end in _lines(job, 0):
        offset = end
        known.append(line)
    for line in known:
        click.echo(_format(line, as_json=as_json))
    while follow and job.path.exists():
        if job.log.exists() and job.log.stat().st_size < offset:
            offset = 0  # The log was renamed, and a new one begins.
        for line, end in _lines(job, offset):
            offset = end
            click.echo(_format(line, as_json=as_json))
        time.sleep(_POLL_SECONDS)


def _lines(job: JobDirectory, offset: int) -> Iterator[tuple[str, int]]:
    """Return the complete lines from byte `offset` on, and the end of each."""
    if not job.log.exists():
        return
    with job.log.open("rb") as file:
        file.seek(offset)
        for data in file:
            if not data.endswith(b"\n"):
                return
            offset += len(data)
            yield data.decode(errors="replace").rstrip("\n"), offset


def event_of(line: str) -> dict[str, Any] | None:
    """Return the fields of an event of a job, None if a line is none."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fields if _is_event(fields) else None


def _format(line: str, *, as_json: bool) -> str:
    fields = event_of(line)
    if fields is None:
        return json.dumps({"ts": None, "event": "output", "line": line}) if as_json else line
    if as_json:
        return line
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(fields.pop("ts")))
    event = fields.pop("event")
    rest = " ".join(f"{name}={_value(value)}" for name, value in fields.items())
    return f"{when} {event} {rest}".rstrip()


def _is_event(fields: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a line is an event of the job.

    A job that writes rows to its standard streams may have a column "event"; only its own events have a time
    in seconds as well.
    """
    if not isinstance(fields, dict) or not isinstance(fields.get("event"), str):
        return False
    seconds = fields.get("ts")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return False
    return 0 <= seconds < _SECONDS_END


def _value(value: object) -> str:
    return (
        value
        if isinstance(value, str) and " " not in value
        else json.dumps(value, ensure_ascii=False)
    )
