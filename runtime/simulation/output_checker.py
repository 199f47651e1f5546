"""The output checker: conditions for every bundle that a sink stores, and for the end.

* exactly-once: after each bundle the sink has exactly the expected output below the end of the bundle, in
  order.
* at-least-once: each bundle is the expected output between its two positions, and leaves no gap after the
  position of the sink.
* at-most-once: at the end the sink has the expected output of the input without the skipped rows; until
  then its positions only increase.
* none: like at-least-once, but a bundle may also restart at the beginning.
* A coordinator delivers bundles only while it has the lease.
* The job finishes if it is expected to, after all sinks have the whole output.

The expected output is an argument, computed by an engine or an oracle.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.runtime.batch import END, START
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.drivers.in_memory import Outcome, collect
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.shards import Shard
    from fsql.runtime.cluster.job_spec import Output
    from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released, Stopped
    from fsql.runtime.drivers.in_memory import ReleasedRow

    Contents = Released | LateRows | DeadLetters
    Row = tuple[Root, str]


class DivergenceError(Exception):
    """A run has violated a condition."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows of each output as (root, text), in order; and where the job stops, None if it does not."""

    rows: tuple[tuple[Row, ...], ...]
    stopped: tuple[Root, int] | None


def expected_of(outcome: Outcome, outputs: Sequence[Output]) -> Expected:
    """Return the expected rows of each output, by the outcome of a run in one process."""
    stopped = outcome.stopped
    return Expected(
        tuple(tuple(rows_of(outcome, output)) for output in outputs),
        None if stopped is None else (stopped.root, stopped.code),
    )


def rows_of(outcome: Outcome, output: Output) -> list[Row]:
    """Return the rows of an outcome that belong to an output, in the order in which they are released."""
    rows: list[tuple[Root, int, str]] = []
    if output.insert is not None:
        released = outcome.released[output.insert]
        if output.shard is not None:
            released = _shard_rows(released, output.shard)
        rows += [(root, 0, f"{op} {row!r}") for root, op, row in released]
    for window in sorted(output.windows):
        rows += [(root, window, f"late {window} {row!r}") for root, row in outcome.late[window]]
    rows += [
        (root, 0, f"reject {dead_letter.row} {dead_letter.code} {dead_letter.reason}")
        for root, dead_letter in outcome.dead_letters
        if root.origin >> 56 == output.dead_letters_of
    ]
    rows.sort(key=lambda row: row[:2])
    return [(root, text) for root, _, text in rows]


def _shard_rows(rows: list[ReleasedRow], shard: Shard) -> list[ReleasedRow]:
    """Return the rows of a shard, in the order of their roots."""
    roots = np.array([root for root, _, _ in rows], np.int64).reshape(-1, 2)
    release = Release([pa.array(range(len(rows)))], None, roots[:, 0], roots[:, 1])
    part = shard.sharder.part(release, shard.number)
    return [] if part is None else [rows[row] for row in part.columns[0].to_pylist()]


class _Ledger:
    """The rows that one sink has stored, and the rows that are expected."""

    def __init__(self, number: int, option: DeliveryOption, expected: Sequence[Row]) -> None:
        self.number = number
        self.option = option
        self.expected = expected
        self.roots = [root for root, _ in expected]
        self.rows: list[Row] = []
        self.position = START

    def expect(self, expected: Sequence[Row]) -> None:
        """Replace the expected rows; they may differ only from the position of the sink on.

        Raises:
            DivergenceError: if they differ before it.
        """
        stored = self.expected[: self.below(self.position)]
        self.expected = expected
        self.roots = [root for root, _ in expected]
        wanted = expected[: self.below(self.position)]
        if wanted != stored and self.option is not DeliveryOption.AT_MOST_ONCE:
            self.diverge(f"rows that were lost are out: {first_difference(wanted, stored)}")

    def below(self, position: Root) -> int:
        """Return how many of the expected rows are below a position."""
        return bisect_left(self.roots, position)

    def store(self, follows: Root, ends: Root, rows: list[Row]) -> None:
        """Record a bundle.

        Raises:
            DivergenceError: if it is not as expected.
        """
        if ends < follows:
            self.diverge(f"a bundle from {follows} to {ends}")
        if any(not follows <= root < ends for root, _ in rows):
            self.diverge(f"rows outside of their bundle, {follows} to {ends}: {rows}")
        if self.option is DeliveryOption.AT_MOST_ONCE:
            if follows != self.position:
                self.diverge(f"a bundle from {follows} after {self.position}")
            self.rows += rows
        else:
            self._compare(follows, ends, rows)
        # Repeated rows are stored already, and a repetition may end before the last stored row.
        self.position = max(self.position, ends)

    def _compare(self, follows: Root, ends: Root, rows: list[Row]) -> None:
        repeats = self.option in {DeliveryOption.AT_LEAST_ONCE, DeliveryOption.NONE}
        if follows != self.position and not (repeats and follows < self.position):
            self.diverge(f"a bundle from {follows} after {self.position}")
        first = self.below(follows)
        wanted = self.expected[first : self.below(ends)]
        if list(wanted) != rows:
            self.diverge(f"{follows} to {ends}: {first_difference(wanted, rows)}")

    def diverge(self, reason: str) -> None:
        """Fail.

        Raises:
            DivergenceError: always.
        """
        raise DivergenceError(f"output {self.number} ({self.option.value}): {reason}")


class OutputChecker:
    """Checks one run."""

    def __init__(self, plan: TickPlan, outputs: Sequence[Output], expected: Expected) -> None:
        self.finished = False
        self.refused: str | None = None
        self.bundles = 0
        self._plan = plan
        self._outputs = outputs
        self._expected = expected
        self._ledgers = [
            _Ledger(number, output.option, rows)
            for number, (output, rows) in enumerate(zip(outputs, expected.rows, strict=True))
        ]

    def on_stored(
        self, output: int, follows: Root, ends: Root, contents: Sequence[Contents | None]
    ) -> None:
        """Record that a sink has stored a bundle.

        Raises:
            DivergenceError: if it is not as expected.
        """
        self.bundles += 1
        plan = self._plan
        outcome = Outcome([[] for _ in plan.sinks], [[] for _ in plan.late_windows])
        for part in contents:
            if part is not None:
                collect(outcome, part, plan)
        self._ledgers[output].store(follows, ends, rows_of(outcome, self._outputs[output]))

    def expect(self, expected: Expected) -> None:
        """Record that the input has changed, at positions that must not have been released.

        Raises:
            DivergenceError: if a sink has rows that are not of this input.
        """
        self._expected = expected
        for ledger, rows in zip(self._ledgers, expected.rows, strict=True):
            ledger.expect(rows)

    def on_epoch(self, output: int, position: Root) -> None:
        """Record that an epoch begins at a position; an output of option NONE may lack rows below it."""
        ledger = self._ledgers[output]
        if ledger.option is DeliveryOption.NONE:
            ledger.position = position

    def lost_rows(self, output: int, position: Root) -> None:
        """Record that a sink has lost its rows from a position on."""
        ledger = self._ledgers[output]
        ledger.rows = [row for row in ledger.rows if row[0] < position]
        ledger.position = position

    def on_delivery(self, address: str, *, has_lease: bool) -> None:
        """Record that a coordinator sends a bundle.

        Raises:
            DivergenceError: if it has no lease.
        """
        if not has_lease:
            raise DivergenceError(f"{address} released without the lease")

    def finish(self, stopped: Stopped | None, diagnostics: bytes | None) -> None:
        """Record that the job is finished.

        Raises:
            DivergenceError: if it should not be.
        """
        if diagnostics is not None:
            self.refused = diagnostics.decode()
            return
        found = None if stopped is None else (stopped.root, stopped.code)
        if found != self._expected.stopped and not self._at_most_once:
            raise DivergenceError(f"stopped at {found}, expected {self._expected.stopped}")
        end = END if stopped is None else stopped.root
        for ledger in self._ledgers:
            missing = ledger.expected[ledger.below(ledger.position) : ledger.below(end)]
            if missing and ledger.option is not DeliveryOption.AT_MOST_ONCE:
                ledger.diverge(f"finished without {missing[0]}")
        self.finished = True

    @property
    def _at_most_once(self) -> bool:
        return any(output.option is DeliveryOption.AT_MOST_ONCE for output in self._outputs)

    def check_subset(self, outcome_without: Callable[[], Outcome]) -> None:
        """Check at-most-once outputs against the outcome without the skipped rows.

        Raises:
            DivergenceError: if one has something else.
        """
        if not self._at_most_once:
            return
        outcome = outcome_without()
        for ledger, output in zip(self._ledgers, self._outputs, strict=True):
            if ledger.option is DeliveryOption.AT_MOST_ONCE:
                wanted = rows_of(outcome, output)
                if wanted != ledger.rows:
                    ledger.diverge(first_difference(wanted, ledger.rows))


def first_difference(wanted: Sequence[Row], found: Sequence[Row]) -> str:
    """Describe the first difference of two sequences."""
    for index, (want, have) in enumerate(zip(wanted, found, strict=False)):
        if want != have:
            return f"row {index} is {have}, expected {want}"
    if len(wanted) > len(found):
        return f"row {len(found)} is missing: {wanted[len(found)]}"
    return f"row {len(wanted)} is too much: {found[len(wanted)]}"
