"""The results of collectors about a job: tables that the optimizer reads.  Data only.

`RESULTS` is the version of these tables; `docs/optimizer.md` describes them.  If nothing was measured, a row
is missing, or a value is None.  Rates are per second, and times in seconds.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fsql.compiler.diagnostics.numbers import counted_text

INTERVALS: Final = 12
"""The number of newest intervals that collectors read."""

RESULTS: Final = 7


BUILT_IN: Final = "built-in"
SPARK: Final = "spark"
"""The names of the collectors."""


def source_text(collector: str, age: int) -> str:
    """Return which collector has made statistics, and how many intervals old they are.

    >>> source_text(SPARK, 2)
    'spark, 2 intervals old'
    """
    return f"{collector}, {'newest' if age == 0 else counted_text(age, 'interval') + ' old'}"


class Load(NamedTuple):
    """The rows of a bin of one side of a fold; `drift` is the newest rate minus the smoothed one.

    `negative` is the fraction of the rows that have a negative weight.
    """

    operator: str
    side: int
    bin: int
    rows_per_second: float
    drift: float
    bytes_per_second: float = 0.0
    negative: float | None = None


class HeavyKey(NamedTuple):
    """A key with many rows: its fraction of all rows of that side, which may be too low by up to `error`."""

    operator: str
    side: int
    hash: int
    key: str
    share: float
    error: float


class Cost(NamedTuple):
    """The work and the cost of an operator; `selectivity` is rows out for each row in."""

    operator: str
    rows_per_second: float
    calls_per_second: float
    busy: float
    seconds_per_row: float | None
    seconds_per_call: float | None
    selectivity: float | None


class FoldLoad(NamedTuple):
    """A fold: its policy, the fractions of rows that were applied again and that waited, and its state.

    A rewind is a repair so expensive that all rows since were undone, and waited.  `wait_seconds` is the mean
    time for which rows that waited have waited.  `changed_keys` are those that have changed since the last
    snapshot; of a join, the rows that have become final since then.  `would_redo` is the fraction of the
    applied rows that would have been applied again if rows had not waited.
    """

    operator: str
    policy: str
    redone: float | None
    held: float | None
    state_rows: int
    state_bytes: int
    rewinds_per_second: float
    wait_seconds: float | None = None
    changed_keys: int = 0
    would_redo: float | None = None


class Disorder(NamedTuple):
    """In which order rows came to a fold in an interval, by all workers together; all per second.

    Rows are applied, applied again, held, or would have been applied again if they had not waited.
    `disordered` of the `batches` had a row at or below one that had come before and was not final.
    `advances` is how often min time passed rows: an ordered fold applies rows so often, a speculative one for
    each batch.  `waiting` is the number of rows that waited, on average.
    """

    interval: int
    operator: str
    policy: str
    applied: float
    redone: float
    held: float
    would_redo: float
    batches: float
    disordered: float
    advances: float
    waiting: float


class FrontLoad(NamedTuple):
    """A split; `skew` is its rate divided by the mean rate of the splits of its table.

    `blocked` is the fraction of time in which it might not be read because of the read-ahead, or because a
    fold was behind.
    """

    table: str
    split: int
    rows_per_second: float
    bytes_per_second: float
    lag_seconds: float
    skew: float | None
    blocked: float


class WorkerLoad(NamedTuple):
    """The fraction of an interval that the operators of a worker took, by processor time.

    `elapsed` is the fraction by elapsed time, which includes time in which other programs had the processor.
    """

    interval: int
    worker: int
    busy: float
    elapsed: float


class OperatorLoad(NamedTuple):
    """The fraction of an interval that an operator took on a worker, by processor time."""

    interval: int
    worker: int
    operator: str
    busy: float


class ConditionPair(NamedTuple):
    """Two conditions of a filter, by number: for which fraction of rows the second one is true.

    `given_first` is this fraction among the rows for which the first one is true; it differs from
    `selectivity` if the two are correlated.
    """

    filter: str
    first: int
    second: int
    selectivity: float
    given_first: float


class Latency(NamedTuple):
    """The age of the chunks of a table when all their results had been released, in seconds.

    Quantiles are the upper ends of buckets, and so up to a fifth too high.
    """

    table: str
    chunks_per_second: float
    median: float
    p99: float


class LinkLoad(NamedTuple):
    """What a worker sends to a peer, -1 for the coordinator; `resent` is by the number of frames.

    `busy` is the processor time of encoding and sending, in seconds per second.
    """

    worker: int
    peer: int
    frames_per_second: float
    bytes_per_second: float
    resent: float | None
    busy: float = 0.0


class Statistics(NamedTuple):
    """All tables, each sorted, and the problems of reading."""

    loads: tuple[Load, ...] = ()
    heavy: tuple[HeavyKey, ...] = ()
    costs: tuple[Cost, ...] = ()
    folds: tuple[FoldLoad, ...] = ()
    fronts: tuple[FrontLoad, ...] = ()
    workers: tuple[WorkerLoad, ...] = ()
    operators: tuple[OperatorLoad, ...] = ()
    disorder: tuple[Disorder, ...] = ()
    pairs: tuple[ConditionPair, ...] = ()
    latency: tuple[Latency, ...] = ()
    links: tuple[LinkLoad, ...] = ()
    problems: tuple[str, ...] = ()
