"""Keys in files: 32 random bytes that processes of one user have, and no other user of the machine.

The file is readable by its owner alone.  A cluster has a key (`fsql.runtime.wire.seal`), and so have TCP
consumers (`fsql.connectors.tcp.proofs`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError

KEY_BYTES: Final = 32
_OWNER_ONLY: Final = 0o600


def cluster_key(path: Path) -> bytes:
    """Return the key in the file at `path`; if there is no file, make one with a new key.

    Concurrent calls return the same key.

    Raises:
        FsqlError: E602, if the file is not a key, or not for its owner alone.
    """
    try:
        if not path.exists():
            _write_new(path)
    except OSError as error:
        raise _refused(path, _reason(error)) from None
    return given_key(path, "remove it: a new one is made")


def given_key(path: Path, *otherwise: str) -> bytes:
    """Return the key in the file at `path`, which somebody else has made.

    `otherwise` is what else could be done about a file that cannot be used.

    Raises:
        FsqlError: E602, if there is no such file; if it is not a key, or not for its owner alone.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        where = "the run makes it, as cluster.key in its state directory"
        raise _refused(path, "there is no such file", where) from None
    except OSError as error:
        raise _refused(path, _reason(error)) from None
    if status.st_uid != os.geteuid():
        raise _refused(path, "it belongs to another user", *otherwise)
    if stat.S_IMODE(status.st_mode) & ~_OWNER_ONLY:
        mode = f"its mode is {stat.S_IMODE(status.st_mode):o}, so that others may use it"
        raise _refused(path, mode, f"chmod 600 {path}", *otherwise)
    if len(key) != KEY_BYTES:
        raise _refused(path, "it does not have 32 bytes", *otherwise)
    return key


def _write_new(path: Path) -> None:
    """Make the file as a whole or, if somebody was faster, not at all."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
        os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.close(descriptor)
        Path(name).unlink()


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[0].lower() + reason[1:]


def _refused(path: Path, reason: str, *helps: str) -> FsqlError:
    message = f'the key "{path}" cannot be used: {reason}'
    return FsqlError([Diagnostic("E602", message, helps=helps)])
