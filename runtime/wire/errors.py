"""What can be wrong with bytes that come."""

from __future__ import annotations


class WireError(Exception):
    """What came is no frame or datagram of ours; it is dropped, and counted under its class."""


class NotOursError(WireError):
    """It does not begin as ours do: somebody else speaks here."""


class DamagedError(WireError):
    """Its hash does not fit: bytes were lost or altered under way."""


class ForeignError(WireError):
    """It is whole, but the sender does not have the key of this cluster."""


class VersionError(WireError):
    """The sender belongs to the cluster but speaks another version of the format."""

    def __init__(self, source: str, theirs: int, ours: int) -> None:
        self.source, self.theirs, self.ours = source, theirs, ours
        super().__init__(
            f"the node at {source} speaks version {theirs} of the wire format, this one version {ours}"
        )


class MalformedError(WireError):
    """It is whole and from this cluster, but does not say what a frame or datagram says: a bug there."""
