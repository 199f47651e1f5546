"""The seal: a header of the first part that identifies the sender and detects changes.

| bytes | what                                                                                      |
|-------|-------------------------------------------------------------------------------------------|
| 4     | `fsql`                                                                                    |
| 2     | the version of the format                                                                 |
| 2     | the length of the sender's address                                                        |
| 16    | xxh3-128 of the 8 bytes before and of everything after the seal, all parts                |
| 16    | BLAKE2b of that hash, with the cluster's key                                              |
| …     | the sender's address, and zeros up to a multiple of 8                                     |

Numbers are little-endian.  This table holds for all versions, so that a node of another version can be
recognized.

Without the key, a party that has seen no sealed frame cannot make a frame that is accepted.  xxh3 is not a
cryptographic hash, so a party that sees a sealed frame could make another one with the same seal.  So nodes
communicate over the loopback, where no other party sees frames, or encrypt connections with CURVE.  Old
frames that are sent again do no harm: links detect duplicates, and nodes check the epoch.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import TYPE_CHECKING, Final

import xxhash

from fsql.compiler.records import dataclass
from fsql.runtime.wire.errors import DamagedError, ForeignError, NotOursError, VersionError
from fsql.runtime.wire.parts import padding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

VERSION: Final = 16
"""The version of the wire format.

Increase it with each change that older nodes cannot read or would misread, also with a field that is added.
"""
_MAGIC: Final = b"fsql"
_START: Final = struct.Struct("<4sHH")
_SEAL: Final = struct.Struct("<4sHH16s16s")


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals and opens messages with the key of one cluster."""

    key: bytes
    version: int = VERSION

    def close(self, source: str, parts: Sequence[Buffer]) -> list[Buffer]:
        """Return the parts with a seal that names `source`, the address of the sending node."""
        address = source.encode()
        start = _START.pack(_MAGIC, self.version, len(address))
        body = b"".join((address, padding(len(address)), parts[0]))
        digest = _digest(start, [body, *parts[1:]])
        return [b"".join((start, digest, self._tag(digest), body)), *parts[1:]]

    def open(self, parts: Sequence[Buffer]) -> tuple[str, list[Buffer]]:
        """Check the seal, and return the sender's address and the parts without the seal.

        Raises:
            NotOursError: if there is no seal.
            DamagedError: if the parts were altered after they were sealed.
            ForeignError: if they were sealed with another key.
            VersionError: if the sender uses another version.
        """
        first = memoryview(parts[0]) if parts else memoryview(b"")
        if len(first) < _SEAL.size or bytes(first[:4]) != _MAGIC:
            raise NotOursError("it does not begin with a seal")
        _, version, length, digest, tag = _SEAL.unpack_from(first)
        body = first[_SEAL.size :]
        rest = list(parts[1:])
        if digest != _digest(first[: _START.size], [body, *rest]):
            raise DamagedError("its hash does not match")
        if not hmac.compare_digest(tag, self._tag(digest)):
            raise ForeignError("it is not sealed with the key of this cluster")
        source = bytes(body[:length]).decode(errors="replace")
        if version != self.version:
            raise VersionError(source, version, self.version)
        return source, [body[length + len(padding(length)) :], *rest]

    def _tag(self, digest: bytes) -> bytes:
        return hashlib.blake2b(digest, digest_size=16, key=self.key).digest()


def _digest(start: Buffer, parts: Sequence[Buffer]) -> bytes:
    hashed = xxhash.xxh3_128(start)
    for part in parts:
        hashed.update(part)
    return hashed.digest()
