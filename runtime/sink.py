"""Sinks: store the bundles of an output together with their position.

Contract.  A sink stores a bundle only if it follows the position of the sink; rows and position are stored
atomically.  It skips a bundle that it has stored already, and refuses any other.  What it has acknowledged
survives the end of its process; what it had acknowledged when `sync` returns survives the loss of power.
`open` begins an epoch, also after an error; calls of older epochs are refused from then on.

`LocalSink` implements this for data that this process stores itself, in a `SinkStore`.  The sink that sends
to another process is in `fsql.connectors.tcp.remote_sink`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import START, position_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Bundle, Contents
    from fsql.runtime.cluster.delivery.option import DeliveryOption

LOCAL_WINDOW: Final = 16
"""How many bundles a local sink takes at a time; it stores each immediately."""
_NOT_OPEN: Final = "the sink has failed and was not opened again"


class OpenReply(NamedTuple):
    """The position of a sink, and how many unacknowledged bundles it takes."""

    position: Root
    window: int


class OpenRequest(NamedTuple):
    """The start of an epoch: its number, the position from which the input is replayed, the delivery option.

    `owner` identifies the job to a sink that other jobs may use as well.
    """

    epoch: int
    begins: Root
    option: DeliveryOption
    owner: str = ""


class SinkLostError(Exception):
    """A sink does not answer, or has refused; another epoch may succeed."""


class SinkDiskError(SinkLostError):
    """The disk of a sink is full or fails."""


class SinkMissingError(SinkLostError):
    """Nothing answers at the address of a sink, or another program does."""

    def __init__(self, output: str, reason: str) -> None:
        super().__init__(reason)
        self._output = output

    def at_start(self) -> FsqlError:
        """Return the error of a run that ends because of it, before it has begun."""
        message = f'table "{self._output}" cannot be written: {self}'
        helps = ("start the consumer first: fsql consume --listen ADDRESS --to FILE",)
        return FsqlError([Diagnostic("E532", message, helps=helps)])


class Sink(Protocol):
    """Stores the bundles of one output."""

    @property
    def missing_reason(self) -> str | None:
        """Return why the sink is considered missing, None if it is not; any thread may call this."""

    @property
    def descriptor(self) -> int | None:
        """Return the descriptor that is readable when an acknowledgement has come, or None."""

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch; return the position of the sink.

        Raises:
            FsqlError: E532, E535 or E537, if it cannot accept rows.
            SinkLostError: if it cannot accept rows now.
        """

    def deliver(self, bundle: Bundle) -> None:
        """Hand over a bundle, or a part of one.

        Raises:
            FsqlError: E535 or E537, if the sink has failed permanently.
            SinkLostError: if another epoch may succeed.
        """

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the positions that the sink has acknowledged since the last call, without waiting.

        Raises:
            FsqlError: E537, if the sink has failed permanently.
            SinkLostError: if another epoch may succeed.
        """

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for an acknowledgement."""

    def sync(self) -> None:
        """Make everything acknowledged survive a loss of power; any thread may call this.

        Raises:
            SinkLostError: if that is not possible.
        """

    def close(self) -> None:
        """Release what is held; what was stored stays."""


class SinkStore(Protocol):
    """Stores bytes and a position atomically; if it is `empty`, a header has to be written first."""

    @property
    def empty(self) -> bool:
        """Return whether the store has no bytes yet."""

    def open(self, opening: OpenRequest) -> Root:
        """Begin an epoch; return the position that the store has."""

    def append(self, data: Sequence[memoryview]) -> None:
        """Append bytes; they count when they are committed."""

    def commit(self, position: Root) -> None:
        """Commit what was appended, with the position below which all rows are stored now."""

    def sync(self) -> None:
        """Make everything committed survive a loss of power."""

    def close(self) -> None:
        """Release what is held."""


class ContentsEncoder(Protocol):
    """Encodes the rows of an output as lines; `header` precedes them."""

    header: bytes

    def __call__(self, contents: Contents) -> Sequence[memoryview]:
        """Return whole lines, in order, in one or more pieces."""


def bundle_bytes(lines: ContentsEncoder, bundle: Bundle, *, header: bool) -> list[memoryview]:
    """Return the bytes of a bundle, or a part of one; the first bundle includes the header, if it is due."""
    due = header and bundle.part == 0 and bundle.follows == START
    data = [memoryview(lines.header)] if due and lines.header else []
    if bundle.contents is not None:
        data += lines(bundle.contents)
    return data


class Sequencer:
    """The rule by which every sink accepts bundles: none twice, and none left out."""

    def __init__(self, position: Root) -> None:
        self.position = position
        self._part = 0

    def accepts(self, follows: Root, ends: Root, part: int) -> bool:
        """Return whether to store the part of a bundle; false if the sink has it already.

        Raises:
            SinkLostError: if a bundle or part before it is missing.
        """
        if ends <= self.position:
            return False
        if follows != self.position or part != self._part:
            raise SinkLostError(
                f"a bundle was refused: it follows {position_text(follows)}, part {part},"
                f" and the sink has {position_text(self.position)}, part {self._part}"
            )
        self._part += 1
        return True

    def on_stored(self, ends: Root) -> None:
        """Record that all parts of a bundle are stored."""
        self.position = ends
        self._part = 0


class LocalSink:
    """A sink in this process, which stores a bundle before it returns."""

    def __init__(self, store: SinkStore, lines: ContentsEncoder) -> None:
        self._store = store
        self._lines = lines
        self._sequencer: Sequencer | None = None
        self._epoch = -1
        self._acknowledged: list[Root] = []

    @property
    def missing_reason(self) -> str | None:
        """Return None: it is in this process."""
        return None

    @property
    def descriptor(self) -> int | None:
        """Return None: stored bundles are acknowledged immediately."""
        return None

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch.

        Raises:
            FsqlError: E532, E535 or E537, if the store cannot be opened.
            SinkLostError: if a later epoch has begun already.
        """
        if opening.epoch < self._epoch:
            raise SinkLostError(f"epoch {self._epoch} has begun, and this is {opening.epoch}")
        self._epoch = opening.epoch
        self._sequencer = None
        self._acknowledged = []
        position = self._store.open(opening)
        self._sequencer = Sequencer(position)
        return OpenReply(position, LOCAL_WINDOW)

    def deliver(self, bundle: Bundle) -> None:
        """Store a bundle, or a part of one.

        Raises:
            FsqlError: E535, if the store cannot go on.
            SinkLostError: if there is no room, if the bundle does not follow, or after an error.
        """
        if self._sequencer is None:
            raise SinkLostError(_NOT_OPEN)
        try:
            self._take(self._sequencer, bundle)
        except BaseException:
            self._sequencer = None
            raise

    def _take(self, sequencer: Sequencer, bundle: Bundle) -> None:
        if not sequencer.accepts(bundle.follows, bundle.ends, bundle.part):
            self._acknowledged.append(sequencer.position)
            return
        data = bundle_bytes(self._lines, bundle, header=self._store.empty)
        if data:
            self._store.append(data)
        if bundle.last:
            self._store.commit(bundle.ends)
            sequencer.on_stored(bundle.ends)
            self._acknowledged.append(bundle.ends)

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the positions stored since the last call."""
        acknowledged, self._acknowledged = self._acknowledged, []
        return acknowledged

    def wait(self, seconds: float) -> None:
        """Return immediately: stored bundles are acknowledged."""

    def sync(self) -> None:
        """Make everything stored survive a loss of power.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if there is no room, or after an error.
        """
        if self._sequencer is None:
            raise SinkLostError(_NOT_OPEN)
        self._store.sync()

    def close(self) -> None:
        """Close the store."""
        self._sequencer = None
        self._store.close()
