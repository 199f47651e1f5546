"""Invariants of the protocol that are checked while a job runs.

Each check is one comparison.  A failure is a bug in fsql: the epoch ends with the error before anything else
is released, so that released output stays correct.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import position_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.batch import Root

BROKEN_INVARIANT: Final = "I902"


class InvariantError(AssertionError):
    """An invariant does not hold; the message says which, and where."""

    @property
    def reason(self) -> str:
        """Return the reason to report for the end of the epoch."""
        return f"internal error FSQL-{BROKEN_INVARIANT}: {self}"


def check_operators(state: Iterable[str], operators: Iterable[str]) -> None:
    """Check that all state belongs to operators of the plan: state is never ignored.

    Raises:
        InvariantError: if some does not.
    """
    unknown = sorted(set(state) - set(operators))
    if unknown:
        raise InvariantError(f"the plan has no operator for the state of {', '.join(unknown)}")


def check_not_below(root: Root, bound: Root, what: str) -> None:
    """Check that a root is not below a bound.

    Raises:
        InvariantError: if it is; `what` names the root and the bound.
    """
    if root < bound:
        raise InvariantError(f"{what}: {position_text(root)} is below {position_text(bound)}")
