"""Delivery: makes bundles of what the barrier lets go to one output, and keeps within the consumer's window.

Contract.  `docs/internals/distribution.md`, section 5.  Bundles follow one another without a gap;
what is below the
position that the consumer has is dropped; no more than the consumer's window is under way at a time.

Not promised: where one bundle ends and the next begins; only the sequence of rows is the same in
every run.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.protocol.barrier import LateRows, Rejected, Released


class DeliveryOption(enum.Enum):
    """What an output promises under failures."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    AT_MOST_ONCE = "at-most-once"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Rows of one output between two positions; `last` says whether it is the last part of several."""

    follows: Root
    ends: Root
    part: int
    last: bool
    contents: Released | LateRows | Rejected
