"""The state directory as the coordinator's process has it: the lease, epochs, committed snapshots.

Two threads use it, each its own methods: one keeps the lease, the other one waits for disks.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.coordination.commits import Committed, commit_snapshot, committed, next_epoch
from fsql.runtime.coordination.embedded import EmbeddedCoordination
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import (
    CoordinationError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
)
from fsql.runtime.state.snapshots import NoSnapshotError, OtherFormatSnapshotError, Snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.runtime.cluster.manifest import Manifest

LEASE_SECONDS: Final = 3.0
"""For how long the lease is held without being renewed."""

RENEWED_EVERY: Final = 0.5
"""How many seconds lie between two renewals."""

LEADER: Final = "leader"
_ATTEMPTS: Final = 5


class FrontLogs(Protocol):
    """The front logs of a job: what was read of input that cannot be read again."""

    def sync(self) -> None:
        """Return when all that was read of the logs survives the loss of power.

        Raises:
            OSError: if the disk fails.
        """

    def committed(self, manifest: Manifest) -> None:
        """Remove what neither this snapshot nor the one before it needs.

        Raises:
            OSError: if it cannot be removed.
        """


class JobState:
    """The state directory of one job."""

    def __init__(self, directory: Path, owner: str, logs: FrontLogs | None = None) -> None:
        """Open it; `owner` is what others read of who leads, `logs` are cut short at each commit.

        Raises:
            FsqlError: E615, if the coordination file is damaged.
            CoordinationUnavailableError: if it cannot be opened now.
        """
        path = directory / "coordination.sqlite"
        # Where there are snapshots there was coordination: that it is gone is not taken for a beginning.
        first = not (directory / "snapshots").is_dir()
        with _telling_of_damage():
            self._keeper = EmbeddedCoordination(path, create=first)
            self._deciding = EmbeddedCoordination(path, create=first)
        self._lease = Lease(self._keeper, LEADER, owner.encode(), LEASE_SECONDS, time.monotonic)
        self._snapshots = Snapshots(directory)
        self._logs = logs

    # The thread that keeps the lease.

    def renew_lease(self) -> float | None:
        """Hold the lease for longer, or try to get it; return until when it is held, None if it is not.

        Raises:
            FsqlError: E615, if the coordination file is damaged.
            CoordinationUnavailableError: if coordination does not answer, and it is not held any more.
        """
        try:
            with _telling_of_damage():
                held = self._lease.hold()
        except CoordinationUnavailableError:
            # What is known is still true; the next renewal may find out more.
            if self._lease.held_until <= time.monotonic():
                raise
            return self._lease.held_until
        return self._lease.held_until if held else None

    # The thread that waits for disks.

    def next_epoch(self) -> tuple[int, Manifest | None]:
        """Return the number of a new epoch, and the newest snapshot that verifies, if there is any.

        Raises:
            FsqlError: E611, E613 or E615, if a snapshot was committed and none can be restored.
            CoordinationError: if the lease is lost, or coordination does not answer.
        """
        try:
            with _telling_of_damage():
                epoch = next_epoch(self._deciding, self._lease.session)
                newest = committed(self._deciding)
            found = self._snapshots.newest(newest)
        except OtherFormatSnapshotError as error:
            raise _lost("E613", str(error)) from None
        except NoSnapshotError as error:
            raise _lost("E611", str(error)) from None
        except OSError as error:
            raise CoordinationUnavailableError(f"cannot read snapshots: {error}") from None
        return epoch, found.manifest

    def commit(self, manifest: Manifest) -> dict[int, tuple[str, ...]]:
        """Write and commit a manifest; return, by worker, the keys that no kept manifest names.

        What is not needed any more, and cannot be removed now, stays.

        Raises:
            SnapshotNotWrittenError: if it could not be written.
            CoordinationError: if it could not be committed.
            OSError: if the front logs could not be synced.
        """
        digest = self._snapshots.write(manifest)
        new = Committed(manifest.snapshot, digest, manifest.epoch)
        if self._logs is not None:
            self._logs.sync()
        self._commit(new)
        try:
            if self._logs is not None:
                self._logs.committed(manifest)
            return self._snapshots.retire(manifest.snapshot)
        except (OSError, OtherFormatSnapshotError):
            return {}

    def _commit(self, new: Committed) -> None:
        for _ in range(_ATTEMPTS):
            try:
                commit_snapshot(self._deciding, self._lease.session, new)
            except CoordinationUnavailableError:
                continue  # it may have happened, and may be said again
            return
        raise CoordinationUnavailableError("no answer came to a commit")

    def close(self) -> None:
        """Let the lease go, so that another coordinator need not wait for its end."""
        try:
            self._lease.release()
        except CoordinationError:
            pass
        finally:
            self._keeper.close()
            self._deciding.close()

    lease_renewed_every = RENEWED_EVERY


@contextmanager
def _telling_of_damage() -> Iterator[None]:
    """Say of a damaged coordination file what to do about it."""
    try:
        yield
    except DamagedCoordinationError as error:
        helps = (CODES["E615"].fix,)
        raise FsqlError([Diagnostic("E615", str(error), helps=helps)]) from None


def _lost(code: str, message: str) -> FsqlError:
    helps = (
        "fsql snapshot verify --state DIRECTORY says what is damaged",
        "start with an empty state directory and all input",
    )
    return FsqlError([Diagnostic(code, message, helps=helps)])
