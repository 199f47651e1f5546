"""The outputs of a run in one process: released rows go to consumers, as in a run on several workers.

Such a run has no state directory, and cannot continue after a failure.  So consumers need not keep positions:
each one starts empty, or appends to the rows that it has.  A bootstrap, which writes the first output of a
job with state, passes another `opening`, with which consumers keep positions as they do in that job.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import END, START
from fsql.runtime.cluster.delivery.delivery import Delivery
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import OpenRequest, SinkDiskError, SinkLostError, SinkMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Bundle, Contents
    from fsql.runtime.cluster.job_spec import Output
    from fsql.runtime.sink import Sink

BUNDLE_ROWS_MAX: Final = 16_384
WAITING_ROWS_MAX: Final = 262_144
"""A write waits while more rows than this are unacknowledged."""
_WAIT_SECONDS: Final = 0.05
WITHOUT_POSITIONS: Final = OpenRequest(0, START, DeliveryOption.NONE)
"""The opening of a run that has no state."""


class OutputWriter:
    """Writes one output to its consumer."""

    def __init__(
        self, output: Output, sink: Sink, opening: OpenRequest = WITHOUT_POSITIONS
    ) -> None:
        """Open the consumer.

        Raises:
            FsqlError: E532, if it cannot be reached or refuses; E537, if it refuses permanently.
        """
        self._output = output
        self._sink = sink
        self._failed = False
        try:
            opened = sink.open(opening)
        except SinkMissingError as error:
            sink.close()
            raise error.at_start() from None
        except SinkLostError as error:
            sink.close()
            message = f"the sink cannot be written: {error}"
            raise FsqlError([Diagnostic("E532", message)]) from None
        self._delivery = Delivery(opening.option, opened.position, opened.window, BUNDLE_ROWS_MAX)

    def take(self, contents: Contents) -> None:
        """Accept those of the released rows that belong to this output; `advance` writes them."""
        share = self._output.share(contents)
        if share is not None:
            self._delivery.take(share)

    def advance(self, bound: Root) -> None:
        """Write the accepted rows, which are all below `bound`; wait while too many are unacknowledged.

        Raises:
            FsqlError: E535, if the consumer is lost or cannot write.
        """
        self._send(self._delivery.advance(bound))
        self._wait_for(0 if bound == END else WAITING_ROWS_MAX)

    def settle(self, position: Root) -> None:
        """Wait until the consumer has durably stored everything below a position.

        Raises:
            FsqlError: E535, if the consumer is lost or cannot write.
        """
        self._send([*self._delivery.advance(position), *self._delivery.reach()])
        while self._delivery.position < position:
            self._sink.wait(_WAIT_SECONDS)
            self._send([])
        try:
            self._sink.sync()
        except SinkLostError as error:
            raise _write_error(error) from None

    def close(self) -> None:
        """Wait until the consumer has everything that was sent, and close it.

        Raises:
            FsqlError: E535, if the consumer is lost or cannot write.
        """
        try:
            if not self._failed:
                self._wait_for(0)
        finally:
            self._sink.close()

    def _wait_for(self, rows: int) -> None:
        while self._delivery.rows_waiting > rows:
            self._sink.wait(_WAIT_SECONDS)
            self._send([])

    def _send(self, bundles: Sequence[Bundle]) -> None:
        try:
            self._deliver(deque(bundles))
        except BaseException as error:
            self._failed = True
            if isinstance(error, SinkLostError):
                raise _write_error(error) from None
            raise

    def _deliver(self, pending: deque[Bundle]) -> None:
        while True:
            while pending:
                self._sink.deliver(pending.popleft())
            for position in self._sink.take_acknowledged():
                pending += self._delivery.acknowledge(position)
            if not pending:
                return


def _write_error(error: SinkLostError) -> FsqlError:
    helps = (
        ("free space on its disk, and run it again",) if isinstance(error, SinkDiskError) else ()
    )
    return FsqlError([Diagnostic("E535", f"writing failed: {error}", helps=helps)])


class Outputs:
    """All outputs of a run."""

    def __init__(self, writers: Sequence[OutputWriter]) -> None:
        self._writers = writers

    def take(self, contents: Contents) -> None:
        """Accept the rows that the barrier releases; `advance` writes them."""
        for writer in self._writers:
            writer.take(contents)

    def advance(self, bound: Root) -> None:
        """Write the accepted rows, which are all below `bound`; END means that no more follow.

        Raises:
            FsqlError: E535, if a consumer is lost or cannot write.
        """
        for writer in self._writers:
            writer.advance(bound)

    def settle(self, position: Root) -> None:
        """Wait until all consumers have durably stored everything below a position.

        Raises:
            FsqlError: E535, if a consumer is lost or cannot write.
        """
        for writer in self._writers:
            writer.settle(position)
