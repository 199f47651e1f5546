"""The key directory of a node: its CURVE key pair, and the public keys that may connect.

| file           | contents                                                                          |
|----------------|-----------------------------------------------------------------------------------|
| `node.key`     | the secret key, 64 hexadecimal digits                                             |
| `previous.key` | the secret key before the last rotation, if there was one                         |
| `authorized`   | one line `NAME PUBLIC-KEY` for each other node; lines that begin with # are comments |

All files are accessible to their owner only.  A **fingerprint** is the first half of the SHA-256 of a public
key; it is part of the address of a node.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import zmq
from zmq.utils import z85

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Stat = Callable[[], os.stat_result]

NODE_KEY: Final = "node.key"
PREVIOUS_KEY: Final = "previous.key"
AUTHORIZED: Final = "authorized"
_HEADER: Final = "# NAME PUBLIC-KEY of each node that may connect to this one\n"
_ZEROMQ_VERSION_MIN: Final = (4, 3, 5)
"""Before 4.3.3, peers without a key could stop a node; 4.3.5 fixes further defects."""
_OWNER_ONLY: Final = 0o700
_FINGERPRINT_DIGITS: Final = 32
_FILE_BYTES_MAX: Final = 1 << 20
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A CURVE key pair."""

    secret: bytes = field(repr=False)
    public: bytes

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the public key."""
        return fingerprint_of(self.public)


def fingerprint_of(public: bytes) -> str:
    """Return the fingerprint of a public key."""
    return hashlib.sha256(public).hexdigest()[:_FINGERPRINT_DIGITS]


class NodeKeys:
    """The keys that a process uses, and the list of those that may connect."""

    def __init__(self, directory: Path, fingerprint: str | None = None) -> None:
        """Read the key directory; use the previous pair if it has this `fingerprint`.

        Raises:
            FsqlError: E646, if a file is missing, damaged or not private, no pair has the fingerprint, or the
                ZeroMQ library is too old or without CURVE.
        """
        if zmq.zmq_version_info() < _ZEROMQ_VERSION_MIN or not zmq.has("curve"):
            reason = f"ZeroMQ {zmq.zmq_version()} is older than 4.3.5, or has no CURVE"
            raise keys_error(directory, reason, "install the wheel of pyzmq 26 or later")
        self.directory = directory
        _check_private(directory, directory.stat if directory.is_dir() else None)
        pairs = [_read_pair(directory / NODE_KEY)]
        if (directory / PREVIOUS_KEY).exists():
            pairs.append(_read_pair(directory / PREVIOUS_KEY))
        self._own = {pair.fingerprint: pair for pair in reversed(pairs)}
        wanted = pairs[0].fingerprint if fingerprint is None else fingerprint
        if wanted not in self._own:
            raise keys_error(
                directory / NODE_KEY,
                f"the key with fingerprint {wanted} was rotated away",
                "start the run again: it uses the new key",
            )
        self.own: KeyPair = self._own[wanted]
        self._authorized: tuple[tuple[int, ...], dict[str, bytes]] = (), {}
        """The version of the list, and the public keys: together, because several threads read them."""
        self.read_authorized_keys()

    def previous(self) -> KeyPair | None:
        """Return the pair before the last rotation, which is still accepted; None if there is none."""
        others = [pair for pair in self._own.values() if pair is not self.own]
        return others[0] if others else None

    def read_authorized_keys(self) -> Mapping[str, bytes]:
        """Return the public keys of other nodes that may connect, by fingerprint.

        A file that has changed is read again.

        Raises:
            FsqlError: E646, if it is missing, damaged or not private.
        """
        path = self.directory / AUTHORIZED
        try:
            status = path.stat()
        except OSError as error:
            raise keys_error(path, _reason(error)) from None
        version = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        known, keys = self._authorized
        if version != known:
            listed = read_authorized(path)
            keys = {fingerprint_of(public): public for public in listed.values()}
            self._authorized = version, keys
        return keys

    def public_of(self, fingerprint: str) -> bytes | None:
        """Return the public key with a fingerprint; None if it may not connect.

        Raises:
            FsqlError: E646, if the list cannot be used.
        """
        if fingerprint in self._own:
            return self._own[fingerprint].public
        return self.read_authorized_keys().get(fingerprint)


def create_keys(directory: Path) -> KeyPair:
    """Create a key directory with a new pair and an empty list.

    Raises:
        FsqlError: E646, if the directory exists, or cannot be written.
    """
    if (directory / NODE_KEY).exists():
        raise keys_error(directory / NODE_KEY, "it exists already", f"fsql keys rotate {directory}")
    pair = _new_pair()
    try:
        directory.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
        _check_private(directory, directory.stat)
        if not (directory / AUTHORIZED).exists():
            _write(directory / AUTHORIZED, _HEADER)
        _write(directory / NODE_KEY, pair.secret.hex() + "\n")
    except OSError as error:
        raise keys_error(directory, _reason(error)) from None
    return pair


def rotate_keys(directory: Path) -> KeyPair:
    """Replace the pair by a new one; the old pair is accepted until the next rotation.

    Raises:
        FsqlError: E646, if the directory cannot be used.
    """
    keys = NodeKeys(directory)
    pair = _new_pair()
    try:
        _write(directory / PREVIOUS_KEY, keys.own.secret.hex() + "\n")
        _write(directory / NODE_KEY, pair.secret.hex() + "\n")
    except OSError as error:
        raise keys_error(directory, _reason(error)) from None
    return pair


def authorize_key(directory: Path, name: str, public: str) -> str:
    """Add a public key to the list, unless it is there already; return its fingerprint.

    A name can have several keys while a node rotates its keys.

    Raises:
        FsqlError: E646, if the name or the key is not valid, or the directory cannot be used.
    """
    keys = NodeKeys(directory)
    path = directory / AUTHORIZED
    line = f"{name} {public}\n"
    known = keys.read_authorized_keys()
    fingerprint = fingerprint_of(_parse_line(path, line)[1])
    if fingerprint in known:
        return fingerprint
    try:
        text = path.read_text()
        _write(path, text + ("" if text.endswith("\n") or not text else "\n") + line)
    except OSError as error:
        raise keys_error(path, _reason(error)) from None
    return fingerprint


def read_authorized(path: Path) -> dict[str, bytes]:
    """Return the public keys of a list; the names of a node's further keys have a suffix.

    Raises:
        FsqlError: E646, if the list is missing, damaged or not private.
    """
    listed: dict[str, bytes] = {}
    for line in _read_private(path).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, public = _parse_line(path, line)
        count = sum(each.partition(" ")[0] == name for each in listed)
        listed[name if not count else f"{name} ({count + 1})"] = public
    return listed


def _parse_line(path: Path, line: str) -> tuple[str, bytes]:
    name, _, public = line.strip().partition(" ")
    if not _NAME.fullmatch(name) or not _KEY.fullmatch(public):
        shown = line.strip()[:100]
        raise keys_error(
            path,
            f'"{shown}" is not of the form NAME PUBLIC-KEY',
            "fsql keys show DIR prints the public key of a node: 64 hexadecimal digits",
        )
    return name, bytes.fromhex(public)


def _new_pair() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(z85.decode(secret), z85.decode(public))


def _read_pair(path: Path) -> KeyPair:
    text = _read_private(path).strip()
    if not _KEY.fullmatch(text):
        raise keys_error(path, "it does not have 64 hexadecimal digits")
    secret = bytes.fromhex(text)
    return KeyPair(secret, z85.decode(zmq.curve_public(z85.encode(secret))))


def _read_private(path: Path) -> str:
    """Return the text of a file that no other user may read.

    Raises:
        FsqlError: E646, if it cannot be read or others may use it.
    """
    try:
        with path.open("rb") as file:
            _check_private(path, lambda: os.fstat(file.fileno()))
            text = file.read(_FILE_BYTES_MAX)
    except FileNotFoundError:
        raise keys_error(path, "there is no such file", "fsql keys init DIR creates keys") from None
    except OSError as error:
        raise keys_error(path, _reason(error)) from None
    return text.decode("ascii", errors="replace")


def _check_private(path: Path, stat_of: _Stat | None) -> None:
    if stat_of is None:
        raise keys_error(path, "there is no such directory", f"fsql keys init {path}")
    status = stat_of()
    if status.st_uid != os.geteuid():
        raise keys_error(path, "it belongs to another user")
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~_OWNER_ONLY:
        right = 700 if stat.S_ISDIR(status.st_mode) else 600
        raise keys_error(
            path, f"its mode is {mode:o}, which lets other users access it", f"chmod {right} {path}"
        )


def _write(path: Path, text: str) -> None:
    """Write a file atomically, with mode 600."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[0].lower() + reason[1:]


def keys_error(path: Path, reason: str, *helps: str) -> FsqlError:
    """Return the error about a file of a key directory."""
    message = f'the CURVE keys "{path}" cannot be used: {reason}'
    return FsqlError([Diagnostic("E646", message, helps=helps)])
