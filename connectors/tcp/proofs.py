"""Proofs by which a job and a TCP consumer verify that the other side has the same key.

The job sends a random challenge.  The consumer sends its own challenge and proves that it has the key; then
the job proves the same.  A proof is an HMAC of both challenges, the side, and the port at which the consumer
listens: so a proof is valid for one connection, one side and one port only.
"""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.key_file import load_or_create_key

CONSUMER: Final = "consumer"
JOB: Final = "job"
_CHALLENGE_BYTES: Final = 32


def new_challenge() -> str:
    """Return a new random challenge."""
    return secrets.token_hex(_CHALLENGE_BYTES)


def proof_of(key: bytes, side: str, challenges: tuple[str, str], port: int) -> str:
    """Return the proof of one side; `challenges` are those of the job and of the consumer."""
    text = "\n".join(("fsql tcp consumer", side, *challenges, str(port)))
    return hmac.digest(key, text.encode(), "sha256").hex()


def is_proof(given: str, expected: str) -> bool:
    """Return whether a proof is the expected one, in constant time."""
    return secrets.compare_digest(given.encode(), expected.encode())


def consumer_key(path: Path | None) -> bytes:
    """Return the key in the file at `path`, or in the user's default file; create it if there is no file.

    Raises:
        FsqlError: E602, if the file is not a key, or others can read it.
    """
    if path is None:
        path = _user_key()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            message = f'the key "{path}" cannot be made: {error.strerror or error}'
            raise FsqlError([Diagnostic("E602", message)]) from None
    return load_or_create_key(path)


def _user_key() -> Path:
    configured = os.environ.get("XDG_CONFIG_HOME")
    if configured:
        return Path(configured) / "fsql" / "consumer.key"
    try:
        return Path.home() / ".config" / "fsql" / "consumer.key"
    except RuntimeError:
        message = "there is no home directory for the key of TCP consumers"
        helps = ("set HOME or XDG_CONFIG_HOME", "or name a key file: 'key' = 'FILE'")
        raise FsqlError([Diagnostic("E602", message, helps=helps)]) from None
