"""Keys in files: 32 random bytes that only processes of one user can read.

The file is readable by its owner only.  A cluster has a key (`fsql.runtime.wire.seal`), and so have TCP
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
_MAKE_ROOM: Final = "free space on its disk, or correct the permissions of its directory"


def load_or_create_key(path: Path) -> bytes:
    """Return the key in the file at `path`; if there is no file, create one with a new key.

    Concurrent calls return the same key.

    Raises:
        FsqlError: E602, if the file is not a key, or others can read it.
    """
    try:
        if not path.exists():
            _write_new(path)
    except OSError as error:
        raise _key_error(path, _reason(error), _MAKE_ROOM) from None
    return load_key(path, "remove it: a new one is created")


def load_key(path: Path, *otherwise: str) -> bytes:
    """Return the key in the file at `path`, which another process has created.

    `otherwise` has further remedies for a file that cannot be used.

    Raises:
        FsqlError: E602, if there is no such file; if it is not a key, or others can read it.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        where = "the run creates it, as cluster.key in its state directory"
        raise _key_error(path, "there is no such file", where) from None
    except OSError as error:
        raise _key_error(path, _reason(error)) from None
    if status.st_uid != os.geteuid():
        raise _key_error(path, "it belongs to another user", *otherwise)
    if stat.S_IMODE(status.st_mode) & ~_OWNER_ONLY:
        mode = f"its mode is {stat.S_IMODE(status.st_mode):o}, which lets other users access it"
        raise _key_error(path, mode, f"chmod 600 {path}", *otherwise)
    if len(key) != KEY_BYTES:
        raise _key_error(path, "it does not have 32 bytes", *otherwise)
    return key


def _write_new(path: Path) -> None:
    """Create the complete file, unless another process has created it first."""
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


def _key_error(path: Path, reason: str, *helps: str) -> FsqlError:
    message = f'the key "{path}" cannot be used: {reason}'
    return FsqlError([Diagnostic("E602", message, helps=helps)])
