"""The network: delivers frames and datagrams, or delays, duplicates, alters or loses them.

A *path* leads from one address to another.  Each has its own latency, fast with a slow tail, and keeps the
order of packets as one connection does.  Its faults: packets are lost, duplicated, reordered or altered; the
path is clogged for a while, is cut, or breaks, which loses all packets in flight on it.

If a run has a codec, messages are sent as bytes, and an alteration flips one bit of them; messages that the
codec then refuses are dropped, as a driver has to do.  Otherwise altered messages are dropped immediately.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.frames import Frame
from fsql.runtime.simulation.tape import CERTAIN
from fsql.runtime.simulation.world import MILLISECOND
from fsql.runtime.wire.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.runtime.cluster.frames import Datagram
    from fsql.runtime.simulation.codec import WireCodec
    from fsql.runtime.simulation.coverage import Coverage
    from fsql.runtime.simulation.world import World

    What = Frame | Datagram
    Receive = Callable[[What, str], None]

_SLOW: Final = CERTAIN // 1000
"""One packet in a thousand is slow without any fault."""


@dataclass(slots=True)
class NetworkSettings:
    """Latency in microseconds; rates are probabilities for each packet while faults are on."""

    latency_us: int = 100
    spread_us: int = 100
    tail_us: int = 20 * MILLISECOND
    loss_rate: float = 0.0
    double_rate: float = 0.0
    overtake_rate: float = 0.0
    alter_rate: float = 0.0


class _Path:
    """One direction between two addresses."""

    __slots__ = ("arrives_us", "broken", "clogged_us", "cut", "draw", "latency_us")

    def __init__(self, latency_us: int, draw: Callable[[int], int]) -> None:
        self.latency_us = latency_us
        self.draw = draw
        self.cut = 0
        self.clogged_us = 0
        self.arrives_us = 0
        self.broken = 0


class Network:
    """All paths, and the listeners at addresses."""

    def __init__(
        self,
        world: World,
        settings: NetworkSettings,
        coverage: Coverage,
        codec: WireCodec | None = None,
    ) -> None:
        self.settings = settings
        self.faulty = True
        self._tail_us = settings.tail_us
        self.packets = 0
        self._world = world
        self._coverage = coverage
        self._codec = codec
        self._listeners: dict[str, Receive] = {}
        self._paths: dict[tuple[str, str], _Path] = {}
        self._latency = world.tape.stream("network latency")
        rates = {
            "loss": settings.loss_rate,
            "double": settings.double_rate,
            "overtaking": settings.overtake_rate,
            "alteration": settings.alter_rate,
        }
        shares = accumulate(int(rate * CERTAIN) for rate in rates.values())
        self._fault_bounds = list(zip(rates, shares, strict=True))
        """The faults of single packets, each with the bound of the draws for which it occurs."""

    def listen(self, address: str, receive: Receive) -> None:
        """Deliver messages for an address to `receive`."""
        self._listeners[address] = receive

    def leave(self, address: str) -> None:
        """Remove the listener at an address."""
        self._listeners.pop(address, None)

    def transmit(self, source: str, address: str, what: What) -> None:
        """Send a frame or datagram to an address."""
        path = self._path(source, address)
        self.packets += 1
        if path.cut:
            self._coverage.record_fault("partition", *kinds_of(what))
            return
        settings = self.settings
        draw = path.draw(CERTAIN)
        delay_us = path.latency_us + (draw & 1023) * settings.spread_us // 1024
        ordered = True
        payload: What | list[bytes] = (
            what if self._codec is None else self._codec.encode(source, what)
        )
        if draw >= CERTAIN - _SLOW:
            delay_us += self._tail_us
        elif self.faulty:
            from_top = CERTAIN - _SLOW - draw
            struck = self._fault_of(from_top) if from_top < self._fault_bounds[-1][1] else None
            if struck is not None:
                self._record_fault(struck, source, address, what)
            if struck == "loss":
                return
            if struck == "double":
                later_us = path.draw(settings.tail_us)
                self._arrive_after(
                    path, delay_us + later_us, (source, address, payload), ordered=False
                )
            elif struck == "overtaking":
                delay_us += path.draw(settings.tail_us)
                ordered = False
            elif struck == "alteration":
                if not isinstance(payload, list):
                    self._coverage.sometimes("frame refused by its hash")
                    return
                part = path.draw(len(payload))
                payload[part] = _flip_bit(payload[part], path.draw(len(payload[part]) * 8))
        self._arrive_after(path, delay_us, (source, address, payload), ordered=ordered)

    def _fault_of(self, from_top: int) -> str | None:
        """Return the fault of a packet; `from_top` is how far its random number is below the greatest."""
        return next((fault for fault, up_to in self._fault_bounds if from_top < up_to), None)

    def intrude(self, codec: WireCodec, source: str, address: str, what: What) -> None:
        """Deliver bytes from a sender outside of the cluster.

        Without encoding, this does nothing.
        """
        if self._codec is None:
            return
        try:
            self._codec.decode(codec.encode(source, what))
        except WireError:
            self._coverage.sometimes("stranger refused")
            return
        self._listeners[address](what, source)

    # Lasting faults.

    def cut(self, source: str, address: str, *, by: int = 1) -> None:
        """Add `by` to the number of cuts of the path to `address`, which delivers only when it is 0."""
        self._path(source, address).cut += by

    def clog(self, source: str, address: str, until_us: int) -> None:
        """Deliver nothing on a path before a time."""
        self._path(source, address).clogged_us = until_us

    def break_connection(self, source: str, address: str) -> None:
        """Lose all packets in flight from `source` to `address`."""
        self._path(source, address).broken += 1

    def heal(self) -> None:
        """End all faults."""
        self.faulty = False
        # Longer delays would exceed timeouts of failure detectors.
        self._tail_us = min(self._tail_us, 20 * MILLISECOND)
        for path in self._paths.values():
            path.cut = 0
            path.clogged_us = 0

    def _path(self, source: str, address: str) -> _Path:
        path = self._paths.get((source, address))
        if path is None:
            settings = self.settings
            latency_us = settings.latency_us + self._latency.below(settings.spread_us + 1)
            draw = self._world.tape.stream(f"packet {source} {address}").below
            path = self._paths[source, address] = _Path(latency_us, draw)
        return path

    def _arrive_after(
        self,
        path: _Path,
        delay_us: int,
        packet: tuple[str, str, What | list[bytes]],
        *,
        ordered: bool,
    ) -> None:
        time_us = max(self._world.now_us + delay_us, path.clogged_us)
        if ordered:
            # Arrivals are at least one microsecond apart, so that no tie can reorder one connection.
            time_us = path.arrives_us = max(time_us, path.arrives_us + 1)
        self._world.at(time_us, self._deliver, path, path.broken, *packet)

    def _deliver(
        self, path: _Path, broken: int, source: str, address: str, payload: What | list[bytes]
    ) -> None:
        if path.cut or path.broken != broken:
            return
        receive = self._listeners.get(address)
        if receive is None:
            return
        if isinstance(payload, list):
            assert self._codec is not None
            try:
                payload = self._codec.decode(payload)
            except WireError:
                self._coverage.sometimes("frame refused by its hash")
                return
        receive(payload, source)

    def _record_fault(self, fault: str, source: str, address: str, what: What) -> None:
        self._coverage.record_fault(fault, *kinds_of(what))
        self._world.trace.record(
            self._world.now_us, source, f"{fault}: {kind_of(what)}", to=address, fault=True
        )


def kind_of(what: What) -> str:
    """Return the kind of a datagram, or of the first item of a frame."""
    if isinstance(what, Frame):
        return type(what.items[0]).__name__ if what.items else "Frame"
    return type(what).__name__


def kinds_of(what: What) -> Iterable[str]:
    """Return the kind of a datagram, or the kinds of all items of a frame."""
    if isinstance(what, Frame) and what.items:
        return dict.fromkeys(type(item).__name__ for item in what.items)
    return (kind_of(what),)


def _flip_bit(data: bytes, bit: int) -> bytes:
    altered = bytearray(data)
    altered[bit // 8] ^= 1 << bit % 8
    return bytes(altered)
