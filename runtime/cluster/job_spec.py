"""The job, and the settings of the protocol, which each node is given once."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import FoldHead
from fsql.runtime.batch import START, Root, origin_parts
from fsql.runtime.cluster.links.link import LinkSettings
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released
from fsql.runtime.dataflow.read_ahead import BYTES_MIN
from fsql.runtime.dataflow.stage_pipeline import Uninstrumented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Batch
    from fsql.runtime.cluster.delivery.option import DeliveryOption
    from fsql.runtime.cluster.delivery.shards import Shard
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.dataflow.stage_pipeline import Instrument


@dataclass(frozen=True, slots=True)
class Output:
    """The rows for one sink: those of an INSERT, late rows of windows, or dead letters of a table.

    `name` is its name in messages.  An output that was added to a job exists `since` a position: in an epoch
    that starts there, its sink is empty.  `shard` says which of an INSERT's rows it has, if they are sharded.
    Outputs with `tells_bounds` are told the bound of each release in which one of them has rows.
    """

    option: DeliveryOption
    insert: int | None = None
    windows: frozenset[int] = frozenset()
    dead_letters_of: int | None = None
    name: str = "an output"
    since: Root = START
    shard: Shard | None = None
    tells_bounds: bool = False

    def share(
        self, contents: Released | LateRows | DeadLetters
    ) -> Released | LateRows | DeadLetters | None:
        """Return the part of `contents` for this output, None if there is none."""
        match contents:
            case Released():
                return self._shard_part(contents) if contents.insert == self.insert else None
            case LateRows():
                return contents if contents.window in self.windows else None
            case DeadLetters():
                own = tuple(
                    item
                    for item in contents.dead_letters
                    if origin_parts(item[0].origin)[0] == self.dead_letters_of
                )
                return DeadLetters(own) if own else None

    def _shard_part(self, contents: Released) -> Released | None:
        if self.shard is None:
            return contents
        part = self.shard.sharder.part(contents.release, self.shard.number)
        return None if part is None else Released(contents.insert, part)


@dataclass(frozen=True, slots=True)
class ResultDifference:
    """What INSERTs get at `position`, where their queries were changed: `rows` by number of the INSERT.

    An epoch that begins there releases the rows with the changes that its input has at the position.  If the
    state is `rebuilt`, the rows are those of the old results, removed; an epoch that begins at the start also
    releases all changes below the position there, so that the sum is the difference of both results.  Their
    sum is not part of any state, so there is no snapshot at the position or below it.
    """

    position: Root
    rows: Mapping[int, Batch]
    rebuilt: bool = False

    @property
    def snapshots_from(self) -> Root:
        """Return the least position of a snapshot."""
        return self.position._replace(origin=self.position.origin + 1) if self.rebuilt else START

    def rows_of(self, start: Root) -> Mapping[int, Batch]:
        """Return the rows that an epoch that begins at `start` releases at the position."""
        return self.rows if start == (START if self.rebuilt else self.position) else {}

    def moves(self, start: Root) -> Mapping[int, Root]:
        """Return the INSERTs whose changes move to a position, in an epoch that begins at `start`."""
        moving = self.rebuilt and start == START
        return dict.fromkeys(self.rows, self.position) if moving else {}


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job as its coordinator needs it; `description` is for the drivers of its workers.

    `logged` says that some sources have a front log; `graph` is the digest of the plan,
    which manifests name; `encodings` are those of the INSERTs whose rows workers encode.  `insert_limits` has
    the number of rows of each INSERT, if the job ends when all of them have released as many.  `difference`
    is that of the last change of the plan.
    """

    job: str
    tick: int
    plan: TickPlan
    fronts: tuple[FrontTask, ...]
    outputs: tuple[Output, ...]
    description: bytes
    logged: bool = False
    graph: str = ""
    encodings: Mapping[int, RowEncoding] = field(default_factory=dict)
    insert_limits: tuple[int, ...] = ()
    difference: ResultDifference | None = None

    @property
    def takes_snapshots(self) -> bool:
        """Return whether snapshots are needed: by a sink, or to trim a front log."""
        return self.logged or any(output.option.is_waited_for for output in self.outputs)

    @property
    def operators(self) -> frozenset[str]:
        """Return the ids of the operators with state."""
        heads = (stage.head for stage in self.plan.stages)
        return frozenset(head.operator for head in heads if isinstance(head, FoldHead))


_LINK: Final = LinkSettings(window_bytes=64 << 20, acknowledge_after=0.1, resend_after=0.4)
"""Few frames are lost, so an acknowledgement may wait for the next frame with rows.

The window has room for several large chunks; fronts limit the total in flight.
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds, and sizes; released output does not depend on them.

    A node that is silent for `failure_after` has failed; this timeout grows up to `failure_after_most`, see
    `failure_detector`.  With `contracts` the coordinator changes owners by load: see `contraction`.
    Workers record statistics every `statistics_every`, never if it is None.  With at least
    `shard_writers_min` workers, workers write shards.  `instrument` makes the `Instrumentation` of an epoch.
    """

    read_ahead_seconds: float = 0.5
    read_ahead_bytes_least: int = BYTES_MIN
    read_ahead_rows: int = 1_000_000
    chunk_rows: int = 65_536
    hello_every: float = 0.05
    heartbeat_every: float = 0.2
    failure_after: float = 5.0
    failure_after_most: float = 640.0
    loading_at_most: float = 60.0
    metrics_every: float = 0.25
    snapshot_every: float | None = 1.0
    bundle_rows_max: int = 262_144
    contracts: bool = False
    statistics_every: float | None = None
    shard_writers_min: int = 3
    link: LinkSettings = _LINK
    instrument: Instrument = Uninstrumented
