"""The network: each link keeps its order, nothing else does, and a seed decides all.

Catches: reordering within a link, loss, runs that cannot be repeated, links that are never picked, recalls
of what has been delivered.
"""

from __future__ import annotations

from fsql.runtime.model.network import Network


def delivered(seed: int) -> list[tuple[int, object]]:
    network = Network(seed)
    for number in range(20):
        for sender in range(3):
            network.send(sender, sender % 2, (sender, number))
    messages = []
    while (message := network.next()) is not None:
        messages.append(message)
    return messages


def test_each_link_keeps_its_order_and_loses_nothing() -> None:
    for seed in range(20):
        messages = delivered(seed)
        assert len(messages) == 60
        for sender in range(3):
            of_sender = [message for _, message in messages if message[0] == sender]  # type: ignore[index]
            assert of_sender == [(sender, number) for number in range(20)]
        assert all(receiver == message[0] % 2 for receiver, message in messages)  # type: ignore[index]


def test_a_seed_gives_one_interleaving_and_seeds_give_many() -> None:
    assert delivered(3) == delivered(3)
    assert len({tuple(delivered(seed)) for seed in range(20)}) == 20


def test_a_message_can_be_recalled_while_it_is_on_its_link() -> None:
    network = Network(0)
    for name in "abc":
        network.send(0, 1, name.upper(), name)
    assert network.recall(0, 1, "b") == "B"
    assert network.recall(0, 1, "b") is None
    assert network.recall(1, 0, "a") is None
    assert network.next() == (1, "A")
    assert network.recall(0, 1, "a") is None
    assert network.recall(0, 1, "c") == "C"
    assert network.next() is None


def test_a_message_that_was_recalled_may_be_sent_again_and_then_comes_last() -> None:
    network = Network(0)
    network.send(0, 1, "first", "a")
    network.send(0, 1, "second", "b")
    network.recall(0, 1, "a")
    network.send(0, 1, "first again", "a")
    assert [network.next(), network.next()] == [(1, "second"), (1, "first again")]


def test_an_empty_network_has_nothing_to_deliver() -> None:
    assert Network(0).next() is None
