"""Swarm testing: a seed chooses the settings of its run, so that runs differ in kind.

Each seed draws the set of faults and their frequency, the number of workers, sizes and times.  So a fault
that hides another one is absent from half of the runs.  The first of several choices is the mild one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.sharding import Sharding
from fsql.compiler.plan_choices import PlanChoices, choices_of, with_choices
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import Policy
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.links.link import LinkSettings
from fsql.runtime.dataflow.read_ahead import BYTES_MIN
from fsql.runtime.drivers.packed_rows import packed_rows
from fsql.runtime.simulation.faults import FAULTS
from fsql.runtime.simulation.network import NetworkSettings
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.simulation.tape import Stream, Tape

NEVER: Final = 1_000
"""A number of workers that no run reaches."""

_RATES: Final = (0.0, 0.0, 0.001, 0.01, 0.05, 0.15)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run; its released rows must not depend on them."""

    workers: int
    spare: int
    coordinators: int
    policy: Policy | None
    option: DeliveryOption
    window: int
    sink_us: int
    rows_max: int
    disk_us: int
    launcher_reports: bool
    lease_us: int
    faults: tuple[str, ...]
    fault_every_us: int
    nodes: Settings
    network: NetworkSettings
    encoded: bool
    hosted: bool
    """Whether each coordinator has a worker in its process."""
    workers_encode: bool
    shards: int | None
    """How many shards the rows of each INSERT go to; None if they are not sharded."""
    rebalanced: int
    """What percentage of the rows of each table its readers send to other workers at first."""
    lingers: bool
    """Whether ticks change the lingers of tables."""

    def first_plan(self, plan: TickPlan) -> TickPlan:
        """Return the plan with which the job starts, given that of the optimizer."""
        tables = tuple((table, self.rebalanced) for table, _ in choices_of(plan).rebalanced)
        return with_choices(plan, PlanChoices(rebalanced=tables))

    def encodings(self, plan: TickPlan) -> Mapping[int, RowEncoding]:
        """Return the encodings of the INSERTs whose rows workers encode: of all INSERTs or of none."""
        return packed_rows(plan) if self.workers_encode else {}

    def with_written_shards(self, shards: int) -> RunSettings:
        """Return these settings, with this number of shards that workers write."""
        nodes = replace(self.nodes, shard_writers_min=1)
        return replace(self, shards=shards, workers_encode=False, nodes=nodes)

    def shardings(self, plan: TickPlan) -> Mapping[int, Sharding]:
        """Return how the rows of each INSERT are sharded, by their roots; empty if they are not."""
        if self.shards is None:
            return {}
        sharding = Sharding(self.shards, None, (), removals_first=False)
        return dict.fromkeys(range(len(plan.sinks)), sharding)


def draw_settings(
    tape: Tape,
    *,
    workers: int | None = None,
    option: DeliveryOption | None = None,
    faults: tuple[str, ...] | None = None,
) -> RunSettings:
    """Return the settings that a tape draws, except for those that are given."""
    choices = tape.stream("settings")
    drawn_workers = choices.one_of((1, 2, 3, 2, 4, 5, 3, 8))
    options = (DeliveryOption.EXACTLY_ONCE,) * 6 + (
        DeliveryOption.AT_LEAST_ONCE,
        DeliveryOption.AT_MOST_ONCE,
        DeliveryOption.NONE,
    )
    drawn_option = choices.one_of(options)
    workers_encode = tape.stream("row encoding").chance(0.5)
    shards = tape.stream("shards").one_of((None, 3, 2))
    return RunSettings(
        workers=workers or drawn_workers,
        spare=choices.one_of((0, 0, 1, 3)),
        coordinators=choices.one_of((1, 1, 2)),
        policy=choices.one_of((None, *Policy)),
        option=option or drawn_option,
        window=choices.one_of((4, 1, 2, 16)),
        sink_us=choices.one_of((100, 100, 5 * MILLISECOND, 50 * MILLISECOND)),
        rows_max=choices.one_of((8, 1, 2, 64, 1000)),
        disk_us=choices.one_of((MILLISECOND, 100, 20 * MILLISECOND, 300 * MILLISECOND)),
        launcher_reports=choices.chance(0.5),
        lease_us=choices.one_of((3 * SECOND, SECOND)),
        faults=_faults(choices) if faults is None else faults,
        fault_every_us=choices.one_of((2 * SECOND, SECOND, SECOND // 2)),
        nodes=replace(
            _nodes(choices, tape.stream("lead")),
            shard_writers_min=tape.stream("shard writers").one_of((1, 2, 3, NEVER)),
        ),
        network=_network(choices),
        encoded=choices.chance(0.2),
        hosted=tape.stream("hosted").chance(0.3),
        workers_encode=workers_encode,
        shards=None if workers_encode else shards,
        rebalanced=tape.stream("rebalanced").one_of((0, 0, 50, 100)),
        lingers=tape.stream("lingers").chance(0.25),
    )


def _faults(choices: Stream) -> tuple[str, ...]:
    """Return the faults of a run: in some runs many kinds at once, in others few kinds, each often."""
    share = choices.one_of((0.15, 0.3, 0.5))
    return tuple(fault for fault in FAULTS if choices.chance(share))


def _nodes(choices: Stream, lead: Stream) -> Settings:
    failure_after = choices.one_of((1.5, 0.7, 3.0))
    link = LinkSettings(
        window_frames=choices.one_of((256, 2, 16)),
        window_bytes=choices.one_of((16 << 20, 2_000)),
        resend_after=choices.one_of((0.2, 0.05)),
        resend_after_max=choices.one_of((2.0, 0.4)),
        acknowledge_after=choices.one_of((0.005, 0.05)),
        acknowledge_frames=choices.one_of((16, 1)),
    )
    return Settings(
        read_ahead_seconds=lead.one_of((0.5, 0.01, 5.0)),
        read_ahead_bytes_least=lead.one_of((BYTES_MIN, 1, 500, 5_000)),
        read_ahead_rows=choices.one_of((1_000_000, 1, 6, 50)),
        heartbeat_every=failure_after / 6,
        failure_after=failure_after,
        failure_after_most=2 * failure_after,
        loading_at_most=choices.one_of((10.0, 4.0)),
        snapshot_every=choices.one_of((1.0, 0.1, 0.3, 4.0, None)),
        bundle_rows_max=choices.one_of((1000, 1, 3)),
        link=link,
    )


def _network(choices: Stream) -> NetworkSettings:
    latency_us = choices.one_of((100, 1000, 5000))
    spread_us = choices.one_of((100, 2000, 20_000))
    if choices.chance(0.4):
        # Without packet loss a job makes more progress before other faults occur.
        return NetworkSettings(latency_us=latency_us, spread_us=spread_us)
    return NetworkSettings(
        latency_us=latency_us,
        spread_us=spread_us,
        tail_us=choices.one_of((20 * MILLISECOND, 300 * MILLISECOND, 2 * SECOND)),
        loss_rate=choices.one_of(_RATES),
        double_rate=choices.one_of(_RATES),
        overtake_rate=choices.one_of(_RATES),
        alter_rate=choices.one_of(_RATES[:-1]),
    )
