"""Events and effects of ticks: moves of bins, and the outcome of a proposal; see `node`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.owners import BinSets, ExchangeRanges, OwnerRanges
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.bin_loads import EdgeLoad
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot


@dataclass(frozen=True, slots=True)
class Ownership:
    """The hash bins that a worker owns from now on, and the state of those that it has adopted.

    The state is in parts; for each operator and bin, the oldest comes first.
    """

    bins: BinSets
    adopted: tuple[tuple[str, IncrementalSnapshot], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The owners of hash bins, the number of workers (numbered from 0), plan choices, owners of fronts.

    `exchanges` has the owner maps of the exchanges that have another map than `owners`.
    """

    owners: OwnerRanges
    workers: int
    choices: PlanChoices = NO_CHOICES
    readers: tuple[int, ...] = ()
    exchanges: ExchangeRanges = ()


@dataclass(frozen=True, slots=True)
class CopyBins:
    """Effect: read back the stored state of some bins.  Answer: `BinsCopied` or `BinsNotCopied`.

    `ownership` is applied first, as with `Store`.
    """

    epoch: int
    tick: int
    bins: BinSets
    ownership: Ownership | None


@dataclass(frozen=True, slots=True)
class RecordStatistics:
    """Effect: write the statistics of a worker over the last seconds.

    `tables` has rows in the order of the columns of `fsql.compiler.statistics.TABLES`, without the columns
    that all tables have; `loads` is for the tables of bins and heavy keys.  Rows of `links` lack their last
    column, the processor time, which the host has measured.
    """

    job: str
    epoch: int
    worker: int
    seconds: float
    tables: Mapping[str, Sequence[tuple[object, ...]]]
    loads: Sequence[EdgeLoad]


@dataclass(frozen=True, slots=True)
class BinsCopied:
    """Event: the state of the bins that the worker had stored, by operator, oldest first."""

    epoch: int
    tick: int
    state: tuple[tuple[str, IncrementalSnapshot], ...]


@dataclass(frozen=True, slots=True)
class BinsNotCopied:
    """Event: the store cannot be read."""

    epoch: int
    tick: int
    reason: str


@dataclass(frozen=True, slots=True)
class TickProposed:
    """Event: the next tick is to have another owner map: worker, first bin and end of each range.

    `exchanges` has other owner maps of some exchanges, by name.  With () as `owners`, exchanges that are not
    named keep theirs.  `choices` are those that change.
    `workers` is the number of workers after it; 0 keeps the number.  Here workers are
    numbered from 0 without a gap, in the order of their numbers in the epoch; those that join come last.
    `readers` has the worker that reads for each front, by number; with () fronts stay, unless the number of
    workers changes.
    """

    tick: int
    owners: OwnerRanges
    workers: int = 0
    choices: PlanChoices = NO_CHOICES
    readers: tuple[int, ...] = ()
    exchanges: ExchangeRanges = ()


@dataclass(frozen=True, slots=True)
class LoadMeasured:
    """Event: the share of the time in which the loop of the coordinator's process was busy, 0 to 1."""

    busy: float


@dataclass(frozen=True, slots=True)
class ProposeTick:
    """Effect: propose a tick with this owner map and an unchanged number of workers.

    Answer: `TickProposed`, if it is proposed.
    """

    owners: OwnerRanges
    reason: str
    workers: int


@dataclass(frozen=True, slots=True)
class TickEnded:
    """Effect: record the outcome of a proposed tick: it was taken, or refused for the reason `refused`.

    `seconds` is the time since the proposal.  `position` is where the tick begins.  `moved_bins` counts the
    bins that have changed owner.  `layout` is the one after it, if it was taken, and `changes` describes the
    changed choices and moved fronts, one line each.
    """

    tick: int
    position: Root
    seconds: float
    refused: str = ""
    moved_bins: int = 0
    layout: Layout | None = None
    changes: tuple[str, ...] = ()


WorkerTickEffect: TypeAlias = CopyBins | RecordStatistics
TickEvent: TypeAlias = TickProposed | LoadMeasured
TickEffect: TypeAlias = TickEnded | ProposeTick
