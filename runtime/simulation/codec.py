"""The real wire format, for runs in which messages are sent as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.wire.codec import decode, encode
from fsql.runtime.wire.seal import VERSION, Seal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.frames import Datagram, Frame

KEY: Final = b"simulated"


class WireCodec:
    """Encodes and seals messages."""

    def __init__(self, key: bytes = KEY, version: int = VERSION) -> None:
        self._seal = Seal(key, version)

    def encode(self, source: str, what: Frame | Datagram) -> list[bytes]:
        """Encode a message from the node at `source` as parts."""
        return [bytes(part) for part in self._seal.close(source, encode(what))]

    def decode(self, parts: Sequence[bytes]) -> Frame | Datagram:
        """Return the frame or datagram that parts encode.

        Raises:
            WireError: if they have been altered.
        """
        return decode(self._seal.open(parts)[1])


STRANGERS: Final = (WireCodec(version=VERSION + 1), WireCodec(key=b"another"))
"""The codecs of nodes of another version, and of another cluster."""
