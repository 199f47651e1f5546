"""Who is told min times: at once whoever holds something or owes its state; others with what they get."""

from __future__ import annotations

from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.coordinator.frontier_updates import FrontierUpdates
from fsql.runtime.dataflow.messages import AckEntry, Acknowledgement, Kind, MinTime

FOLD, OTHER = 1, 2


def root(time: int) -> Root:
    return Root(time, 0)


def hold(time: int, number: int) -> AckEntry:
    return AckEntry(FOLD, Kind.HOLD, root(time), number)


def moved(*entries: AckEntry) -> Acknowledgement:
    return Acknowledgement(entries)


def telling() -> FrontierUpdates:
    """Return one of two folds on three workers."""
    return FrontierUpdates((FOLD, OTHER), range(3), START)


def test_who_holds_something_below_min_time_is_told_and_nobody_else() -> None:
    one = telling()
    one.on_acknowledgement(1, moved(hold(5, 11)))
    one.on_acknowledgement(2, moved(hold(7, 12)))
    one.on_advance(FOLD, root(5))
    assert list(one.take_urgent()) == []
    one.on_advance(FOLD, root(6))
    assert list(one.take_urgent()) == [(1, MinTime(FOLD, root(6)))]
    assert list(one.take_urgent()) == []


def test_a_hold_that_comes_when_min_time_is_there_is_told_of_it() -> None:
    one = telling()
    one.on_advance(FOLD, root(9))
    assert list(one.take_urgent()) == []
    one.on_acknowledgement(0, moved(hold(5, 11)))
    assert list(one.take_urgent()) == [(0, MinTime(FOLD, root(9)))]


def test_a_hold_that_has_left_or_moved_ahead_is_not_told() -> None:
    one = telling()
    one.on_acknowledgement(0, moved(hold(5, 11)))
    one.on_acknowledgement(1, moved(hold(5, 12)))
    one.on_acknowledgement(0, moved(hold(5, 11)))
    one.on_acknowledgement(1, moved(hold(5, 12), hold(8, 13)))
    one.on_advance(FOLD, root(8))
    assert list(one.take_urgent()) == []
    one.on_advance(FOLD, root(9))
    assert list(one.take_urgent()) == [(1, MinTime(FOLD, root(9)))]


def test_who_owes_its_state_is_told_once_that_min_time_is_there() -> None:
    one = telling()
    one.on_advance(FOLD, root(4))
    one.request(root(5))
    assert list(one.take_urgent()) == []
    one.on_advance(FOLD, root(6))
    assert list(one.take_urgent()) == [(worker, MinTime(FOLD, root(6))) for worker in range(3)]
    one.on_advance(FOLD, root(7))
    assert list(one.take_urgent()) == []
    # Where min time is there already when the snapshot is announced, nothing need rise any more.
    one.request(root(7))
    assert list(one.take_urgent()) == [(worker, MinTime(FOLD, root(7))) for worker in range(3)]


def test_all_are_told_of_the_end() -> None:
    one = telling()
    one.on_advance(OTHER, END)
    assert list(one.take_urgent()) == [(worker, MinTime(OTHER, END)) for worker in range(3)]


def test_news_are_what_was_not_told() -> None:
    one = telling()
    one.on_acknowledgement(0, moved(hold(5, 11)))
    one.on_advance(FOLD, root(6))
    one.on_advance(OTHER, root(3))
    assert list(one.take_urgent()) == [(0, MinTime(FOLD, root(6)))]
    assert one.take_updates(0, 1.0) == [MinTime(OTHER, root(3))]
    assert one.take_updates(0, 1.0) == []
    assert one.take_updates(1, 1.0) == [MinTime(FOLD, root(6)), MinTime(OTHER, root(3))]


def test_what_goes_back_is_no_news() -> None:
    """How far all is out goes back where a consumer that had all is given rows."""
    one = telling()
    one.on_advance(FOLD, root(6))
    one.on_advance(FOLD, root(2))
    assert one.take_updates(2, 1.0) == [MinTime(FOLD, root(6))]


def test_news_do_not_come_with_each_frame_unless_they_are_waited_for() -> None:
    one = telling()
    one.on_advance(FOLD, root(6))
    assert one.take_updates(0, 1.0) == [MinTime(FOLD, root(6))]
    one.on_advance(FOLD, root(7))
    assert one.take_updates(0, 1.05) == []
    assert one.take_all_updates(0, 1.05) == [MinTime(FOLD, root(7))]
    one.on_advance(FOLD, root(8))
    assert one.take_updates(0, 1.2) == [MinTime(FOLD, root(8))]
