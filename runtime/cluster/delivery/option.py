"""What a sink is promised when rows are delivered again after a failure."""

from __future__ import annotations

import enum


class DeliveryOption(enum.Enum):
    """The delivery guarantees of an output."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    AT_MOST_ONCE = "at-most-once"
    NONE = "none"

    @property
    def keeps_position(self) -> bool:
        """Return whether the output continues from the position of its sink."""
        return self in {DeliveryOption.EXACTLY_ONCE, DeliveryOption.AT_MOST_ONCE}

    @property
    def is_waited_for(self) -> bool:
        """Return whether a snapshot has to wait until the sink has stored everything below its position."""
        return self is not DeliveryOption.NONE
