"""Two nodes in one process: what is for which, and that what they say to each other is not encoded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fsql.runtime.cluster.frames import COORDINATOR, Begin, Frame, Goodbye, Heartbeat, Hello
from fsql.runtime.hosts.hosted_nodes import HostedNodes, HostedTransport

if TYPE_CHECKING:
    from fsql.runtime.cluster.node import Received

BEGIN = Begin("job", 0, 1, "w", 0, "here", ("here",), b"", b"", 5.0)
HELLO = Hello("job", "w", "here")
TO_COORDINATOR = [
    HELLO,
    Heartbeat("job", 1, 0),
    Goodbye("job", 1, 0, finished=False),
    Frame("job", 0, 1, 0, COORDINATOR, 1, 0, ()),
]
TO_WORKER = [
    BEGIN,
    Heartbeat("job", 1, COORDINATOR),
    Goodbye("job", 1, COORDINATOR, finished=False),
    Frame("job", 0, 1, COORDINATOR, 0, 1, 0, ()),
    Frame("job", 0, 1, 1, 0, 1, 0, ()),
]


class Node:
    """A node that records what has come, and sends answers to an address."""

    def __init__(self, transport: HostedTransport, address: str, answers: list[Any]) -> None:
        self.came: list[tuple[Any, str]] = []
        self._transport, self._address, self._answers = transport, address, answers

    def step(self, event: Received) -> None:
        self.came.append((event.what, event.source))
        if self._answers:
            self._transport.send(self._address, self._answers.pop(0))


def test_what_nodes_of_one_process_send_to_each_other_is_handed_over_in_order() -> None:
    sent: list[Any] = []
    network: Any = SimpleNamespace(
        send=lambda *each: sent.append(each), send_last=lambda *each: sent.append(each)
    )
    transport = HostedTransport(network, "here")
    coordinator = Node(transport, "here", list(TO_WORKER))
    worker = Node(transport, "here", list(TO_COORDINATOR))
    nodes = HostedNodes(coordinator, worker, transport)
    nodes.receive(Hello("job", "v", "there"), "there")
    nodes.exchange()
    transport.send("there", BEGIN)
    transport.send_last("there", HELLO)
    assert coordinator.came == [
        (Hello("job", "v", "there"), "there"),
        *((what, "here") for what in TO_COORDINATOR),
    ]
    assert worker.came == [(what, "here") for what in TO_WORKER]
    assert all(one is what for (one, _), what in zip(worker.came, TO_WORKER, strict=True))
    assert sent == [("there", BEGIN), ("there", HELLO)]
