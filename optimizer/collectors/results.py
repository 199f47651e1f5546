"""The final arithmetic of each collection, over a few sums: shared by all collectors.

An interval counts half as much as one that is `HALF_LIFE` intervals newer.  A rate of a worker is its
weighted count divided by its weighted seconds; the rate of a job is the sum over its workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HALF_LIFE: Final = 2.0
GONE_AFTER: Final = 3
"""A worker that has written nothing for this many intervals has left."""
_FLAT: Final = 1e-6
"""If the determinant is below this fraction of both sums of squares, rows and calls cannot be separated."""


class Span(NamedTuple):
    """An interval of a worker, with its seconds and its weight."""

    worker: int
    interval: int
    begins: int
    seconds: float
    weight: float


def spans_of(found: Iterable[tuple[int, int, int, int]]) -> list[Span]:
    """Return the spans of the present workers, given worker, interval, and both ends in µs."""
    distinct = sorted(set(found))
    newest = max((interval for _, interval, _, _ in distinct), default=0)
    last: dict[int, int] = {}
    for worker, interval, _, _ in distinct:
        last[worker] = max(interval, last.get(worker, interval))
    return [
        Span(
            worker,
            interval,
            begins,
            (ends - begins) / 1e6,
            0.5 ** ((newest - interval) / HALF_LIFE),
        )
        for worker, interval, begins, ends in distinct
        if last[worker] > newest - GONE_AFTER
    ]


class Weight(NamedTuple):
    """The weights of the rows of a span in a rate.

    `smooth` is the weight of the span by the weighted seconds of its worker.  `is_newest` is 1 in the newest
    span of a worker and 0 in others.
    """

    worker: int
    begins: int
    seconds: float
    smooth: float
    is_newest: float


def weights_of(spans: Sequence[Span]) -> list[Weight]:
    """Return the weights of each span; a span is identified by its worker and its begin."""
    by_begin = {(span.worker, span.begins): span for span in spans}
    total: dict[int, float] = {}
    newest: dict[int, int] = {}
    for span in by_begin.values():
        total[span.worker] = total.get(span.worker, 0.0) + span.weight * span.seconds
        newest[span.worker] = max(span.begins, newest.get(span.worker, span.begins))
    return [
        Weight(
            *(span.worker, span.begins, span.seconds, span.weight / total[span.worker]),
            float(newest[span.worker] == span.begins),
        )
        for span in by_begin.values()
    ]


class Sums(NamedTuple):
    """Sums over the spans of an operator: rows, calls and seconds, and their products."""

    rr: float
    rc: float
    cc: float
    rt: float
    ct: float


def cost_of(sums: Sums) -> tuple[float | None, float | None]:
    """Return the seconds for a row and for a call by least squares, neither below 0.

    If they cannot be separated, all time is attributed to rows, and that of a call is unknown.
    """
    determinant = sums.rr * sums.cc - sums.rc * sums.rc
    if sums.rr <= 0:
        return None, sums.ct / sums.cc if sums.cc > 0 else None
    alone = max(0.0, sums.rt / sums.rr)
    if determinant <= _FLAT * sums.rr * sums.cc:
        return alone, None
    row = (sums.rt * sums.cc - sums.ct * sums.rc) / determinant
    call = (sums.ct * sums.rr - sums.rt * sums.rc) / determinant
    if call < 0:
        return alone, 0.0
    return (row, call) if row >= 0 else (0.0, sums.ct / sums.cc)
