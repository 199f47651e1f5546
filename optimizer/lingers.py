"""Chooses for how long the reader of a table waits between two small chunks, from statistics.

A chunk costs each operator a call, however few rows it has, and its reader frames, acknowledgements and
promises.  A live source that is read as often as possible makes chunks of a few rows, and calls may take most
of a worker's time.  A linger makes fewer and larger chunks, and rows wait for half of it on average.

What a call of an operator takes is measured, and counts up to `CALL_SECONDS_MAX`: where all chunks have the
same number of rows, time cannot be divided among rows and calls, and expensive rows would seem to be
expensive calls.  What a chunk takes besides operators is `CHUNK_SECONDS`, on the worker that reads it.

If calls take more than `CALLS_MAX` of a worker's time, the linger becomes the least of `LINGERS_MS` with
which they would take at most `CALLS_TARGET`, or the greatest.  It becomes shorter again when they would take
at most `CALLS_TARGET` even if each row were a chunk of its own, since how large chunks would be without a
linger cannot be measured.  A linger that is shorter than most times between chunks has no effect, so that
what is measured is what would be without it.  Between the two limits the linger stays, so it does not
alternate.  The gain of a longer one is what calls take less in as many intervals as were measured; it has to
be more than `GAIN_MIN` times the cost of a tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.explain.choices import linger_text
from fsql.compiler.plan_choices import may_linger
from fsql.compiler.reasons import Reason
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import FoldHead, SourceHead, ToFold
from fsql.optimizer.owner_choice import GAIN_MIN, HORIZON, reason_to_wait
from fsql.optimizer.rebalancing import READ
from fsql.optimizer.tick_costs import busy_fractions, intervals_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.choose_tick import Situation
    from fsql.optimizer.statistics import Statistics

LINGERS_MS: Final = (1, 2, 5, 10, 20, 50)
CALLS_MAX: Final = 0.5
"""The fraction of a worker's time that calls may take before a reader lingers."""
CALLS_TARGET: Final = 0.25
"""The fraction that calls should take after a change."""
CHUNK_SECONDS: Final = 1e-3
"""The processor time of a chunk on its reader, besides operators."""
CALL_SECONDS_MAX: Final = 0.5e-3
SAVED_MIN: Final = 0.1
"""The fraction of the time of calls that a longer linger has to save."""
ROWS_MANY: Final = 256
"""With so many rows in a chunk a call costs little more than its rows."""
_HAS_EFFECT: Final = 0.5
"""The linger divided by the mean time between chunks, above which it may determine that time."""


@dataclass(frozen=True, slots=True)
class _Chunks:
    """What is measured of the chunks of a table.

    `rate` and `rows` are the chunks and the rows of a split in a second, `calls` the fraction of each
    worker's time that calls for them take.
    """

    linger_ms: int
    rate: float
    rows: float
    calls: tuple[float, ...]

    def calls_at(self, linger_ms: int, worker: int) -> float:
        """Return the fraction that calls would at most take with a linger."""
        rate = self.rate
        lingers = self.linger_ms > 0 and rate * self.linger_ms / 1000 >= _HAS_EFFECT
        if linger_ms < self.linger_ms and lingers:
            rate = max(rate, self.rows)
        if linger_ms:
            rate = min(rate, 1000 / linger_ms)
        return self.calls[worker] * rate / self.rate


def choose_lingers(
    situation: Situation, statistics: Statistics
) -> tuple[tuple[tuple[str, int], ...], tuple[Reason, ...]]:
    """Return the tables that get another linger, and the reasons; at most one table in a tick."""
    plan = situation.plan
    heads = [stage.head for stage in plan.stages if isinstance(stage.head, SourceHead)]
    waits = _reason_to_wait(situation, statistics)
    known = {} if waits else _chunks_of_tables(situation, statistics)
    [*measured] = [each for each in known.values() if isinstance(each, _Chunks)]
    totals = [sum(each.calls[worker] for each in measured) for worker in range(plan.workers)]
    worker = totals.index(max(totals))
    count = len(intervals_of(statistics, situation.since, plan.workers))
    lasts = min(HORIZON, max(count, 1) * situation.seconds)
    worth = GAIN_MIN * situation.least_cost / lasts
    by_calls = sorted(known, key=lambda table: -_calls_on(known[table], worker))
    chosen: dict[str, int] = {}
    reasons = {}
    for table in by_calls:
        found = known[table]
        now = next(head.linger_ms for head in heads if head.table.name == table)
        if isinstance(found, str):
            linger_ms, text = now, found
        elif chosen:
            linger_ms, text = now, "that of another table changes first"
        else:
            linger_ms, text = _choose(found, totals[worker], worker, worth)
        if linger_ms == now:
            text = f"{linger_text(now)}, stays; {text}"
            reasons[table] = Reason(_subject(table), text)
        else:
            chosen[table] = linger_ms
            text = f"{linger_text(linger_ms)}, was {linger_text(now)}; {text}"
            reasons[table] = Reason(_subject(table), text, changes=True)
    for head in heads:
        table, text = head.table.name, f"{linger_text(head.linger_ms)}, stays; {waits}"
        reasons.setdefault(table, Reason(_subject(table), text))
    return tuple(chosen.items()), tuple(reasons[head.table.name] for head in heads)


def _subject(table: str) -> str:
    return f"linger of {table}"


def _calls_on(found: _Chunks | str, worker: int) -> float:
    return found.calls[worker] if isinstance(found, _Chunks) else -1.0


def _reason_to_wait(situation: Situation, statistics: Statistics) -> str:
    """Return why no linger changes, whatever calls take; "" if there is no such reason."""
    intervals = intervals_of(statistics, situation.since, situation.plan.workers)
    return reason_to_wait(situation, len(intervals))


def _choose(chunks: _Chunks, total: float, worker: int, worth: float) -> tuple[int, str]:
    """Return the linger of a table, and why; calls for all tables take `total` on the worker.

    A longer one has to save more than `worth`, in seconds per second.
    """
    now = chunks.linger_ms
    rest = total - chunks.calls[worker]
    text = (
        f"calls take {total:.0%} of worker {worker}, for {chunks.rate:.4g} chunks a second of a split"
        f" with {chunks.rows / chunks.rate:.1f} rows each"
    )

    def after(linger_ms: int) -> float:
        return rest + chunks.calls_at(linger_ms, worker)

    if total > CALLS_MAX:
        if chunks.rows / chunks.rate >= ROWS_MANY:
            return now, f"{text}, which are many"
        longer = [each for each in LINGERS_MS if each > now]
        enough = [each for each in longer if after(each) <= CALLS_TARGET]
        linger_ms = (enough or longer[-1:] or [now])[0]
        saved = total - after(linger_ms)
        pays = saved > worth
        text += f", and would take {after(linger_ms):.0%} if rows wait for {linger_ms / 2:g} ms on average"
        return (linger_ms if pays and saved >= SAVED_MIN * total else now), text
    shorter = [each for each in (0, *LINGERS_MS) if each < now and after(each) <= CALLS_TARGET]
    if not shorter:
        return now, text
    return shorter[0], f"{text}, and would take at most {after(shorter[0]):.0%}"


def _chunks_of_tables(situation: Situation, statistics: Statistics) -> dict[str, _Chunks | str]:
    """Return for each table what is measured of its chunks, or what is not."""
    plan = situation.plan
    workers = range(plan.workers)
    reaching = _tables_by_operator(plan)
    chunk_rates = {each.table: each.chunks_per_second for each in statistics.latency}
    spent = busy_fractions(statistics, situation.since)
    reading = [spent.get(READ, {}).get(worker, 0.0) for worker in workers]
    calls = _calls_of_operators(statistics, spent)
    found: dict[str, _Chunks | str] = {}
    for stage in plan.stages:
        if not isinstance(stage.head, SourceHead):
            continue
        table = stage.head.table.name
        splits = [
            each.rows_per_second
            for each in statistics.fronts
            if each.table == table and each.rows_per_second > 0
        ]
        chunks = chunk_rates.get(table, 0.0)
        if not may_linger(stage.head):
            found[table] = "rows have the times of their arrival, each in a chunk of its own"
        elif not splits or not chunks or not sum(reading):
            found[table] = "no estimate of its chunks"
        else:
            of_table = [chunks * CHUNK_SECONDS * each / sum(reading) for each in reading]
            for name, tables in sorted(reaching.items()):
                if table in tables:
                    part = chunks / sum(chunk_rates.get(each, 0.0) for each in tables)
                    for worker, busy in calls.get(name, {}).items():
                        of_table[worker] += part * busy
            rate, rows = chunks / len(splits), sum(splits) / len(splits)
            found[table] = _Chunks(stage.head.linger_ms, rate, rows, tuple(of_table))
    return found


def _calls_of_operators(
    statistics: Statistics, spent: Mapping[str, Mapping[int, float]]
) -> dict[str, dict[int, float]]:
    """Return the processor time that calls of each operator take on each worker, in seconds per second."""
    found = {}
    for each in statistics.costs:
        if each.seconds_per_call and each.busy > 0:
            seconds = min(each.seconds_per_call, CALL_SECONDS_MAX) * each.calls_per_second
            part = min(1.0, seconds / each.busy)
            on = spent.get(each.operator, {})
            found[each.operator] = {worker: part * busy for worker, busy in on.items()}
    return found


def _tables_by_operator(plan: TickPlan) -> Mapping[str, frozenset[str]]:
    """Return for each operator the tables whose rows, or what is made of them, come to it."""
    tables: list[frozenset[str]] = [frozenset() for _ in plan.stages]
    found: dict[str, frozenset[str]] = {}
    for number, stage in enumerate(plan.stages):
        head = stage.head
        if isinstance(head, SourceHead):
            tables[number] |= {head.table.name}
        names = {step.origin for step in stage.steps}
        names |= {head.operator} if isinstance(head, FoldHead) else {READ}
        for name in names:
            found[name] = found.get(name, frozenset()) | tables[number]
        for send in stage.sends:
            if isinstance(send.to, ToFold):
                tables[send.to.stage] |= tables[number]
    return found
