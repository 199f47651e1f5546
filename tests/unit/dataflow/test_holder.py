"""Who holds output back: the front that has promised least, and since its promise last changed."""

from __future__ import annotations

from fsql.runtime.batch import END, START, Root
from fsql.runtime.dataflow.holder import Held, Holder


def test_the_front_that_has_promised_least_holds_output_back() -> None:
    holder = Holder()
    assert holder.holds([(0, START), (1, Root(5, 1))], 10.0) == Held(0, 0.0, START)
    assert holder.holds([(0, Root(9, 0)), (1, Root(5, 1))], 12.0) == Held(1, 2.0, Root(5, 1))
    assert holder.holds([(0, Root(9, 0)), (1, Root(9, 1))], 13.0) == Held(0, 1.0, Root(9, 0))
    assert holder.holds([(0, END), (1, Root(9, 1))], 15.0) == Held(1, 2.0, Root(9, 1))
    assert holder.holds([(0, END), (1, END)], 16.0) is None
