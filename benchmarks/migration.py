"""What a layout tick costs: the longest time without output, and the latency of rows around it.

Half of the state moves from one of two workers to the other while rows flow.  The same stream before the
proposal shows what would have been without a tick.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.benchmarks.paced import SCRIPT, Paced, run_paced
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.job.ticks import ProposedLayout, job_of_state, propose, wait_until_ended
from fsql.runtime.hosts.tick_proposals import JOB_ENDED

if TYPE_CHECKING:
    from fsql.benchmarks.job_process import JobProcess
    from fsql.benchmarks.paced import PacedRun
    from fsql.runtime.coordination.ticks import TickRecord

_STATE_BYTES_OF_A_KEY: Final = 200
"""The bytes in memory columns of a key with its count, hash and time of expiry."""
_BACKLOG_RATE: Final = 5_000
_QUIET: Final = 0.5
"""The tick is proposed after this part of the time."""
_WARM_UP: Final = 0.2
_AFTER_SECONDS: Final = 1.0
"""The time after a tick that counts as its cost."""
_WAIT_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Migration:
    """The parameters of a run."""

    state_mib: int
    rate: int
    seconds: float
    snapshot_ms: int

    @property
    def keys(self) -> int:
        """Return how many keys the state has."""
        return max(1, (self.state_mib << 20) // _STATE_BYTES_OF_A_KEY)


@dataclass(slots=True)
class _Proposal:
    """Proposes the tick in the middle of a run."""

    seconds: float
    proposed_at: float = 0.0
    ended_at: float = 0.0
    record: TickRecord | None = field(default=None)

    def __call__(self, job: JobProcess, start: float) -> None:
        time.sleep(max(0.0, start + _QUIET * self.seconds - time.monotonic()))
        description = job_of_state(job.state)
        owners = Owners(OwnerMap((1,) * BINS, 2))
        self.proposed_at = time.monotonic()
        try:
            tick = propose(job.state, description, ProposedLayout(owners), NO_CHOICES, "benchmark")
            self.record = wait_until_ended(
                job.state, tick, seconds=_WAIT_SECONDS, is_running=job.is_running
            )
        except FsqlError:
            if job.is_running():
                raise
        self.ended_at = time.monotonic()


def migrate(migration: Migration) -> dict[str, Any]:
    """Run it, and return the fields of a JSON object.

    A run whose input ends before the tick is over is repeated with twice the time.

    Raises:
        JobFailedError: if the run does not come to its end, or rows are missing.
        FsqlError: if the tick is not taken.
    """
    while (measured := _migrate_in_time(migration)) is None:
        migration = replace(migration, seconds=2 * migration.seconds)
    return measured


def _migrate_in_time(migration: Migration) -> dict[str, Any] | None:
    """Run it once; return None if its input has ended before the tick."""
    proposal = _Proposal(migration.seconds)
    paced = Paced(
        migration.rate,
        migration.seconds,
        workers=2,
        snapshot_ms=migration.snapshot_ms,
        backlog=migration.keys,
        backlog_rate=_BACKLOG_RATE,
        script=SCRIPT.with_name("paced_counts.sql"),
        parameters=(("keys", migration.keys),),
        contracts=False,
    )
    run = run_paced(paced, proposal)
    record = proposal.record
    if record is None or record.refused == JOB_ENDED:
        return None
    begin = run.start + _WARM_UP * migration.seconds
    quiet_gap, quiet_at = run.longest_gap(begin, proposal.proposed_at)
    gap, at = run.longest_gap(proposal.proposed_at, proposal.ended_at + _AFTER_SECONDS)
    return {
        "benchmark": "migration",
        "state_mib": migration.state_mib,
        "rate": migration.rate,
        "snapshot_ms": migration.snapshot_ms,
        "keys": migration.keys,
        "state_bytes_on_disk": run.state_bytes,
        "tick_seconds": round(record.seconds, 3),
        "moved_bins": record.moved_bins,
        "refused": record.refused,
        "gap_ms": gap,
        "latency_ms_p99": _latency_ms(run, at - 0.5, at + 0.5),
        "tick_latency_ms_p99": _latency_ms(run, proposal.proposed_at, proposal.ended_at),
        "quiet_gap_ms": quiet_gap,
        "quiet_latency_ms_p99": _latency_ms(run, quiet_at - 0.5, quiet_at + 0.5),
        "quiet_latency_ms_p99_of_all": _latency_ms(run, begin, proposal.proposed_at),
        "bytes_equal": run.lines == _expected_lines(paced.documents, migration.keys),
        "recoveries": run.job.summary()["recoveries"],
    }


def _latency_ms(run: PacedRun, begin: float, end: float) -> float | None:
    """Return the 99th percentile of the rows that were due in a time."""
    late = run.late_ms_between(begin, end)
    return round(float(np.percentile(late, 99)), 1) if len(late) else None


def _expected_lines(rows: int, keys: int) -> bytes:
    """Return the lines that the run must write."""
    return b"".join(b'{"id":%d,"seen":%d}\n' % (row, row // keys + 1) for row in range(rows))
