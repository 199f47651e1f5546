"""Fronts: how far they may be ahead, and that waiting never becomes forever.

Catches: a read-ahead that is not kept, fronts that wait for one another.  Not caught: promises that are wrong
(test_acker, and the assertions of acker and barrier in every run).
"""

from __future__ import annotations

from random import Random

import pytest

from fsql.compiler.graph import Map
from fsql.runtime.batch import Root
from fsql.runtime.model.front import Front
from fsql.runtime.model.grouping import GroupingRule
from fsql.runtime.model.papers import Apply, GroupBy, Input, Output
from fsql.runtime.model.trial import Trial, wire

ROOTS = [Root(time, 0) for time in (1, 2, 2, 5)]


def test_a_front_is_ahead_by_what_it_handed_in_at_or_above_min_time() -> None:
    front = Front(0, [(root, "payload") for root in ROOTS])
    ahead = []
    while front.read() is not None:
        ahead.append(front.ahead())
    assert ahead == [1, 2, 3, 4]
    for bound, left in ((1, 4), (2, 3), (3, 1), (5, 1), (6, 0)):
        front.on_min_time(Root(bound, 0))
        assert front.ahead() == left


@pytest.mark.parametrize("read_ahead", [1, 3])
def test_what_a_front_has_in_the_graph_is_within_its_lead(read_ahead: int) -> None:
    inside_most = 0
    for seed in range(8):
        inside: set[int] = set()

        def enter(time: int, inside: set[int] = inside) -> list[int]:
            nonlocal inside_most
            inside.add(time)
            inside_most = max(inside_most, len(inside))
            return [time]

        def leave(time: int, inside: set[int] = inside) -> list[int]:
            inside.remove(time)
            return [time]

        graph = wire(
            (Input(), ()), (Map(Apply(enter)), (0,)), (Map(Apply(leave)), (1,)), (Output(), (2,))
        )
        trial = Trial(
            graph, [[(time, time) for time in range(30)]], seed=seed, read_ahead=read_ahead
        ).run()
        assert trial.payloads == list(range(30))
    assert inside_most == read_ahead


@pytest.mark.parametrize("seed", range(20))
def test_fronts_of_any_speed_all_come_to_their_end(seed: int) -> None:
    random = Random(seed)
    fronts = [
        [(time, (number, time)) for time in sorted(random.sample(range(40), random.randrange(15)))]
        for number in range(4)
    ]
    grouping = GroupBy(GroupingRule(lambda _: "all", window=1))
    graph = wire((Input(), ()), (grouping, (0,)), (Output(), (1,)))
    trial = Trial(graph, fronts, seed=seed, workers=2, read_ahead=1).run()
    arrivals = sorted((time, number) for front in fronts for time, (number, _) in front)
    assert trial.payloads == [((number, time),) for time, number in arrivals]
