"""SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's part, without channel binding."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

MECHANISM: Final = "SCRAM-SHA-256"
_ITERATIONS: Final = 4096


class ScramError(Exception):
    """The client does not know the password, or has sent no message of SCRAM."""


class Verifier:
    """What the server keeps of a password."""

    def __init__(self, password: str) -> None:
        self.salt = secrets.token_bytes(16)
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), self.salt, _ITERATIONS)
        client = hmac.digest(salted, b"Client Key", "sha256")
        self.stored = hashlib.sha256(client).digest()
        self.server = hmac.digest(salted, b"Server Key", "sha256")


class Exchange:
    """One authentication: `first`, then `last`."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._bare = self._sent = self._nonce = ""
        self._header = ""

    def first(self, received: bytes) -> bytes:
        """Return the challenge.

        Raises:
            ScramError: if it is not the first message.
        """
        try:
            words = received.decode().split(",", 2)
            binding, _, bare = words
            nonce = _fields(bare)["r"]
        except (ValueError, KeyError):
            raise ScramError("the first message is not valid") from None
        if binding not in {"n", "y"} or not nonce:
            raise ScramError("channel binding is not offered")
        self._header, self._bare = f"{words[0]},{words[1]},", bare
        self._nonce = nonce + base64.b64encode(secrets.token_bytes(18)).decode()
        salt = base64.b64encode(self._verifier.salt).decode()
        self._sent = f"r={self._nonce},s={salt},i={_ITERATIONS}"
        return self._sent.encode()

    def last(self, received: bytes) -> bytes:
        """Return the proof that the server knows the password, once the client has proved it.

        Raises:
            ScramError: if it has not.
        """
        try:
            text = received.decode()
            without, _, proof_text = text.rpartition(",p=")
            fields = _fields(without)
            proof = base64.b64decode(proof_text, validate=True)
            header = base64.b64decode(fields["c"], validate=True).decode()
            nonce = fields["r"]
        except (ValueError, KeyError):
            raise ScramError("the last message is not valid") from None
        signed = ",".join([self._bare, self._sent, without]).encode()
        signature = hmac.digest(self._verifier.stored, signed, "sha256")
        key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        matches = hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored)
        if not matches or nonce != self._nonce or header != self._header:
            raise ScramError("the password is wrong")
        return b"v=" + base64.b64encode(hmac.digest(self._verifier.server, signed, "sha256"))


def _fields(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)
