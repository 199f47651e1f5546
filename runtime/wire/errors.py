"""The errors of received bytes."""

from __future__ import annotations


class WireError(Exception):
    """The bytes are not a valid frame or datagram; they are dropped and counted by the error class."""


class NotOursError(WireError):
    """The first bytes are wrong: the sender is another program."""


class DamagedError(WireError):
    """The hash does not match: bytes were lost or altered in transit."""


class ForeignError(WireError):
    """The bytes are intact, but the sender does not have the key of this cluster."""


class VersionError(WireError):
    """The sender belongs to the cluster but uses another version of the format."""

    def __init__(self, source: str, theirs: int, ours: int) -> None:
        self.source, self.theirs, self.ours = source, theirs, ours
        super().__init__(
            f"the node at {source} uses version {theirs} of the wire format, this one version {ours}"
        )


class MalformedError(WireError):
    """The bytes are intact and from this cluster, but are not a frame or datagram: a bug of the sender."""
