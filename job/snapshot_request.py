"""Requests a snapshot of a running job, through its coordination."""

from __future__ import annotations

import secrets
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.job.coordination import coordination_error, state_coordination
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.coordination.snapshot_requests import (
    SnapshotRequest,
    newest_answer,
    put_request,
    withdraw_request,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.coordination.port import Coordination
    from fsql.runtime.coordination.snapshot_requests import SnapshotTaken

_SESSION_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02


def request_snapshot(
    state: Path, *, last: bool, seconds: float, is_running: Callable[[], bool]
) -> SnapshotTaken | None:
    """Request a snapshot of the job in a state directory, and wait until it is committed.

    A `last` snapshot ends the run.  Returns None if the job ends before.  A request that is not answered
    within `seconds` is withdrawn.

    Raises: FsqlError: E636, if no snapshot is committed within `seconds`; E614, if the state directory has no
        job.
    """
    request = SnapshotRequest(secrets.token_hex(8), last)
    try:
        coordination = state_coordination(state)
    except CoordinationError as error:
        raise coordination_error(state, error) from None
    with closing(coordination):
        try:
            return _ask(coordination, request, time.monotonic() + seconds, is_running)
        except CoordinationError as error:
            raise _not_taken(f"coordination does not answer: {error}") from None
        finally:
            with suppress(CoordinationError):
                withdraw_request(coordination, coordination.open_session(_SESSION_SECONDS), request)


def _ask(
    coordination: Coordination,
    request: SnapshotRequest,
    until: float,
    is_running: Callable[[], bool],
) -> SnapshotTaken | None:
    put_request(coordination, coordination.open_session(_SESSION_SECONDS), request)
    while True:
        running = is_running()
        answer = newest_answer(coordination)
        if answer is not None and answer.id == request.id:
            return answer
        if not running:
            return None
        if time.monotonic() >= until:
            raise _not_taken("the job has not reached a position at which it can be taken")
        time.sleep(_POLL_SECONDS)


def _not_taken(reason: str) -> FsqlError:
    message = f"no snapshot could be taken: {reason}"
    return FsqlError([Diagnostic("E636", message, helps=(CODES["E636"].fix,))])
