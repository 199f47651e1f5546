"""The probes of `coverage` that can be recognized from frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import AdoptFront, Credit, Frame, SnapshotAnswer, SnapshotDeclined
from fsql.runtime.dataflow.messages import Message, PortKind
from fsql.runtime.dataflow.metrics import Metrics

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Datagram, Item
    from fsql.runtime.simulation.coverage import Coverage


_SEEN: Final[dict[type, str]] = {
    AdoptFront: "front moved",
    Credit: "front granted beyond its read-ahead",
    SnapshotDeclined: "snapshot not stored",
}


def record_probes(what: Frame | Datagram, coverage: Coverage) -> None:
    """Record the probes of a frame or datagram."""
    if isinstance(what, Frame):
        for item in what.items:
            _record_probes(item, coverage)


def _record_probes(item: Item, coverage: Coverage) -> None:
    match item:
        case Message(parcel):
            if parcel.repairs:
                coverage.sometimes("repairs under way")
            if parcel.to.port is PortKind.LATE:
                coverage.sometimes("late rows under way")
            if parcel.to.port is None and parcel.to.stage == 0:
                coverage.sometimes("rows rebalanced")  # the first stage is always one of a table
            if parcel.dead_letters:
                coverage.sometimes("rejects under way")
        case Metrics():
            if item.rows_held:
                coverage.sometimes("rows held")
        case SnapshotAnswer(accepted=False):
            coverage.sometimes("snapshot refused by a worker")
        case _ if type(item) in _SEEN:
            coverage.sometimes(_SEEN[type(item)])
        case _:
            pass
