"""The time to live of state, as a script sets it: SET 'table.exec.state.ttl'."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.window_changes import equal_bounds
from fsql.compiler.binder.report import refusal
from fsql.compiler.bound.lifetimes import Lifetime, SideLifetimes
from fsql.compiler.diagnostics import Label
from fsql.compiler.durations import DURATION_US_MAX
from fsql.compiler.logical import Aggregate, ApplyChanges, Join, Over, Rank, operators
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler import syntax
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


SETTING: Final = "table.exec.state.ttl"

_DURATION: Final = re.compile(r"(\d{1,12}) ?([a-z]*)", re.ASCII)
_UNITS_US: Final[Mapping[str, int]] = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
}


_PARTS: Final = (
    "write the part whose state is to end as a view after SET, and RESET before the rest"
)


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """How long the state of queries is kept, as set by SET or a hint; None means forever.

    `sides` are those of a query that has only the state of one join.
    """

    of_groups: Lifetime | None = None
    sides: SideLifetimes | None = None

    @property
    def of_sides(self) -> SideLifetimes | None:
        """Return how long the rows of each side of a join are kept; None means forever."""
        given = self.of_groups
        if self.sides is not None:
            return self.sides
        return None if given is None else SideLifetimes(given.idle_us, given.idle_us, given.span)

    def check_all_ends(self, query: Plan, span: Span) -> None:
        """Check that the setting bounds all state of a query.

        Raises:
            Refusal: E301.
        """
        given = self.of_groups or self.sides
        kept = (_unbounded_state(node) for node in operators(query) if given is not None)
        found = next((each for each in kept if each is not None), None)
        if found is not None and given is not None:
            raise refusal(
                "E301",
                f"not implemented yet: a time to live of {found}",
                span,
                secondary=(Label(given.span, "all state is to end by this setting"),),
                help=_PARTS,
            )


def is_setting(key: syntax.StringLiteral) -> bool:
    """Return whether a key of SET or RESET is the time to live of state."""
    return key.value.strip().lower() == SETTING


def read_setting(written: syntax.SetOption) -> Lifetime | None:
    """Return the time to live that SET gives all state; None for 0, which keeps it forever.

    Raises:
        Refusal: E224.
    """
    return read_duration(written.value.value, written.value.span, f"setting '{SETTING}'")


def read_duration(text: str, span: Span, owner: str) -> Lifetime | None:
    """Return a duration, without a unit in milliseconds; None for 0.

    Raises:
        Refusal: E224.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    unit_us = None if match is None else _UNITS_US.get(match[2])
    idle_us = 0 if match is None or unit_us is None else int(match[1]) * unit_us
    if unit_us is None or idle_us > DURATION_US_MAX:
        raise refusal(
            "E224",
            f"{owner} cannot be '{text}'",
            span,
            "expected a duration",
            help="write a number and a unit: '12 h', '1 d'",
        )
    return Lifetime(idle_us, span) if idle_us else None


def _unbounded_state(node: Plan) -> str | None:
    match node:
        case Aggregate(idle_us=None, keys=keys) if keys:
            return "these groups"
        case ApplyChanges():
            return "tables that are read as changes"
        case Over(idle_us=None, partition=partition) if partition:
            return "running aggregates"
        case Rank(window_end=None, partition=partition, limit=limit):
            return "ranks" if partition or limit is None else None
        case Join(time_range=None) if equal_bounds(node) is None:
            return "this join"
        case _:
            return None
