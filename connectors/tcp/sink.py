"""A TCP consumer as the sink of a run that keeps no state: each run sends everything, and waits for the end.

Such a run has no failure to go on after, so it asks for nothing to be kept: what it sends is put behind what
the consumer has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery import Delivery, DeliveryOption
from fsql.runtime.consumer import ConsumerLostError, ConsumerMissingError, Opening
from fsql.runtime.dataflow.barrier import Released

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.connectors.tcp.consumer import TcpConsumer
    from fsql.runtime.cluster.delivery import Bundle
    from fsql.runtime.ports import Release

BUNDLE_ROWS_MAX: Final = 16_384
WAITING_ROWS_MAX: Final = 262_144
"""How many rows may be under way before a write waits."""
_WAIT_SECONDS: Final = 0.05


class TcpSink:
    """Sends the rows of one run to a consumer."""

    def __init__(self, consumer: TcpConsumer) -> None:
        """Say hello.

        Raises:
            FsqlError: E532, if nobody answers or the consumer refuses; E537, if it refuses for good.
        """
        self._consumer = consumer
        option = DeliveryOption.NONE
        try:
            opened = consumer.open(Opening(0, START, option))
        except ConsumerMissingError as error:
            consumer.close()
            raise error.at_start() from None
        except ConsumerLostError as error:
            consumer.close()
            message = f"the sink cannot be written: {error}"
            raise FsqlError([Diagnostic("E532", message)]) from None
        self._delivery = Delivery(option, opened.position, opened.window, BUNDLE_ROWS_MAX)

    def write(self, release: Release) -> None:
        """Send the rows, and wait while too many are under way.

        Raises:
            FsqlError: E535, if the consumer is lost.
        """
        self._delivery.take(Released(0, release))
        last = Root(int(release.time[-1]), int(release.origin[-1]) + 1)
        self._send(self._delivery.advance(last))
        self._wait_for(WAITING_ROWS_MAX)

    def close(self) -> None:
        """Wait until the consumer has everything, and hang up.

        Raises:
            FsqlError: E535, if the consumer is lost.
        """
        try:
            self._wait_for(0)
        finally:
            self._consumer.close()

    def _wait_for(self, rows: int) -> None:
        while self._delivery.rows_waiting > rows:
            self._consumer.wait(_WAIT_SECONDS)
            self._send(())

    def _send(self, bundles: Iterable[Bundle]) -> None:
        try:
            for bundle in bundles:
                self._consumer.deliver(bundle)
            acknowledged = self._consumer.acknowledged()
        except ConsumerLostError as error:
            raise FsqlError([Diagnostic("E535", f"writing failed: {error}")]) from None
        for position in acknowledged:
            self._send(self._delivery.acknowledge(position))
