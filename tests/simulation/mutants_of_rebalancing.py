"""Mistakes that rebalancing could have; simulation has to find them all.  See `mutants`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.runtime.dataflow.messages import AckEntry, Acknowledgement, Kind
from fsql.runtime.dataflow.outbox import Outbox
from fsql.runtime.dataflow.rebalancing import Rebalancing
from fsql.runtime.dataflow.routing import LayoutChange, Routing
from fsql.tests.simulation.mutants_of_fronts import show_broken_invariants

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fsql.runtime.dataflow.messages import Message

    Patch = pytest.MonkeyPatch

SOURCE = 0
"""The first stage, which is always one of a table."""


def rows_are_run_before_the_switch(patch: Patch) -> None:
    """Rows of a worker that has switched go to the old owners of their keys, by one that has not."""

    def defers(self: LayoutChange, message: Message) -> bool:
        return message.parcel.to.stage != SOURCE and right(self, message)

    right = LayoutChange.defers
    patch.setattr(LayoutChange, "defers", defers)


def rows_on_the_way_to_the_first_stage_are_not_acknowledged(patch: Patch) -> None:
    """Min time passes rows that another worker has not processed yet."""

    def finish(self: Outbox, consumed: Any, folds: Any) -> Any:
        def counts(entry: AckEntry) -> bool:
            return (entry.stage, entry.kind) != (SOURCE, Kind.MESSAGE)

        effects = right(self, [entry for entry in consumed if counts(entry)], folds)
        return [
            Acknowledgement(tuple(filter(counts, each.entries)))
            if isinstance(each, Acknowledgement)
            else each
            for each in effects
        ]

    show_broken_invariants(patch)
    right = Outbox.finish
    patch.setattr(Outbox, "finish", finish)


def rows_go_to_the_owners_of_an_earlier_layout(patch: Patch) -> None:
    """Rows go to a worker that has left."""

    def parts(self: Rebalancing, ordinal: int, batch: Any, routing: Routing) -> Any:
        first = vars(self).setdefault("first", Routing(routing.holdings, routing.exchanges))
        return right(self, ordinal, batch, first)

    right = Rebalancing.parts
    patch.setattr(Rebalancing, "parts", parts)


MUTANTS: tuple[Callable[[Patch], None], ...] = (
    rows_are_run_before_the_switch,
    rows_on_the_way_to_the_first_stage_are_not_acknowledged,
)
MUTANTS_OF_MEMBERS: tuple[Callable[[Patch], None], ...] = (
    rows_go_to_the_owners_of_an_earlier_layout,
)
