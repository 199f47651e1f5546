"""When a coordinator tries again after what may well happen again."""

from __future__ import annotations

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.backoff import MOST_SECONDS, Retries


def waits(retries: Retries, done: list[Root]) -> list[float]:
    """Return how long is waited for after failures that find so much done."""
    found, now = [], 0.0
    for each in done:
        retries.failed(each, now)
        due = retries.due(now)
        found.append(0.0 if due is None else due - now)
        now = due or now
        assert retries.due(now) is None
    return found


def test_what_keeps_failing_is_tried_less_and_less_often() -> None:
    doubling = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert waits(Retries(), [START] * 9) == doubling
    assert doubling[-1] == MOST_SECONDS


def test_what_gets_something_done_in_between_begins_anew() -> None:
    done = [Root(5, 0), Root(5, 0), Root(5, 0), Root(6, 0), Root(6, 0), START]
    assert waits(Retries(), done) == [0.0, 0.125, 0.25, 0.0, 0.125, 0.25]
