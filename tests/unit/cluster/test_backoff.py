"""When a coordinator tries again after what may well happen again."""

from __future__ import annotations

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.members.restart_strategy import SECONDS_MAX, Backoff


def waits(backoff: Backoff, done: list[Root]) -> list[float]:
    """Return how long is waited for after failures that find so much done."""
    found, now = [], 0.0
    for each in done:
        backoff.on_failure(each, now)
        due = backoff.retry_at(now)
        found.append(0.0 if due is None else due - now)
        now = due or now
        assert backoff.retry_at(now) is None
    return found


def test_what_keeps_failing_is_tried_less_and_less_often() -> None:
    doubling = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert waits(Backoff(), [START] * 9) == doubling
    assert doubling[-1] == SECONDS_MAX


def test_what_gets_something_done_in_between_begins_anew() -> None:
    done = [Root(5, 0), Root(5, 0), Root(5, 0), Root(6, 0), Root(6, 0), START]
    assert waits(Backoff(), done) == [0.0, 0.125, 0.25, 0.0, 0.125, 0.25]
