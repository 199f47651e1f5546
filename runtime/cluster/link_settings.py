"""Limits and times of links."""

from __future__ import annotations

from fsql.compiler.records import dataclass


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Limits and times of a link; the times are in seconds.

    `resend_after` is the minimum timeout after which a frame is sent again.  The timeout doubles each time it
    expires, up to `resend_after_max`, until a frame is acknowledged that was sent only once.  If no frame
    can carry an acknowledgement, it is sent alone after `acknowledge_after`, or immediately after
    `acknowledge_frames` frames or a quarter of `window_bytes`, so that no sender has to wait for it.
    Large frames have more time before they are sent again and before their receiver counts as stuck: the time
    that their transfer takes at `bytes_per_second`.
    """

    window_frames: int = 256
    window_bytes: int = 16 << 20
    resend_after: float = 0.2
    resend_after_max: float = 2.0
    acknowledge_after: float = 0.005
    acknowledge_frames: int = 16
    bytes_per_second: int = 8 << 20
