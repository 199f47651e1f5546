"""The state of a job for its coordinator: the lease, epochs, committed snapshots.

Two background executors use it, each with its own methods: one renews the lease, the other waits for disks.
Long work is done in steps (`Steps`).
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.coordination.commits import (
    Committed,
    commit_snapshot,
    newest_committed,
    next_epoch,
)
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import (
    CoordinationError,
    CoordinationRefusedError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
)
from fsql.runtime.coordination.snapshot_requests import SnapshotTaken, open_request, put_answer
from fsql.runtime.hosts.tick_proposals import TickProposals, last_layout
from fsql.runtime.state.snapshots import NoSnapshotError, OtherFormatSnapshotError, Snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.cluster.ticks.events import Layout
    from fsql.runtime.coordination.port import Coordination
    from fsql.runtime.coordination.snapshot_requests import SnapshotRequest
    from fsql.runtime.hosts.front_logs import FrontLogs
    from fsql.runtime.hosts.ports import Clock, Steps
    from fsql.runtime.state.directory import StateDirectory

LEASE_SECONDS: Final = 3.0
"""How long the lease is held without being renewed."""

RENEWALS: Final = 6
"""How often the lease is renewed in that time."""

LEADER: Final = "leader"
"""The key of the lease; its value is the address of the coordinator."""

_ATTEMPTS: Final = 5


def close_leader_session(coordination: Coordination, owner: str) -> None:
    """Close the session of the coordinator `owner`, which has ended, if it holds the lease.

    Raises:
        CoordinationError: if coordination does not answer.
    """
    entry = coordination.get(LEADER)
    if entry is not None and entry.session is not None and entry.value == owner.encode():
        coordination.close_session(entry.session)


class JobState:
    """The state of one job in one coordinator."""

    def __init__(  # noqa: PLR0913 - one argument for each port
        self,
        directory: StateDirectory,
        lease_client: Coordination,
        commit_client: Coordination,
        owner: str,
        clock: Clock,
        *,
        logs: FrontLogs,
        lease_seconds: float = LEASE_SECONDS,
        takes_requests: bool = False,
        wall_clock: Clock = lambda: 0.0,
    ) -> None:
        """Take two clients of coordination, one for each executor; `owner` is the value of the lease.

        With `takes_requests`, other processes may ask for snapshots and ticks by way of coordination.
        `wall_clock` shows the seconds since 1970.
        """
        self._directory = directory
        self._snapshots = Snapshots(directory)
        self._lease_client = lease_client
        self._commit_client = commit_client
        self._clock = clock
        self._logs = logs
        self._takes_requests = takes_requests
        self._wall_clock = wall_clock
        self._requested_at = 0.0
        self.snapshot_problems: tuple[str, ...] = ()
        """The snapshots that could not be restored when the last epoch was taken."""
        self.lease = Lease(
            lease_client, LEADER, owner.encode(), lease_seconds, lambda: self._requested_at
        )
        self.renewal_seconds = lease_seconds / RENEWALS

    # The executor that renews the lease.

    def renew_lease(self) -> Steps[float | None]:
        """Renew the lease, or try to acquire it; return the time until which it is held, None if it is not.

        Raises:
            FsqlError: E615, if data of coordination is damaged; E643, if it refuses access.
            CoordinationUnavailableError: if coordination does not answer.
        """
        self._requested_at = self._clock()
        yield
        with translate_persistent_errors():
            held = self.lease.hold()
        return self.lease.held_until if held else None

    def open_request(self) -> SnapshotRequest | None:
        """Return the open request for a snapshot; None if there is none, or coordination does not answer."""
        if not self._takes_requests:
            return None
        with suppress(CoordinationError):
            return open_request(self._lease_client)
        return None

    def tick_proposals(self, spec: JobSpec) -> TickProposals | None:
        """Return the proposals of ticks by other processes; None if the job does not accept any."""
        if not self._takes_requests:
            return None
        return TickProposals(self._lease_client, self.lease, spec, self._wall_clock)

    # The executor that waits for disks.

    def next_epoch(self) -> int:
        """Return the number of a new epoch.

        Raises:
            FsqlError: E615 or E643, if the data in coordination cannot be used.
            CoordinationError: if the lease is lost, or coordination does not answer.
        """
        with translate_persistent_errors():
            return next_epoch(self._commit_client, self.lease.session)

    def take_epoch(self) -> Steps[tuple[int, Manifest | None]]:
        """Return the number of a new epoch, and the newest snapshot that verifies, if there is any.

        Raises:
            FsqlError: E611, E612, E613, E615 or E643, if a snapshot was committed and none can be restored.
            CoordinationError: if the lease is lost, or coordination does not answer.
        """
        epoch = self.next_epoch()
        yield
        with translate_persistent_errors():
            newest = newest_committed(self._commit_client, self.lease.session)
        yield
        try:
            found = self._snapshots.newest(newest)
        except OtherFormatSnapshotError as error:
            raise self._state_error("E613", str(error)) from None
        except NoSnapshotError as error:
            if error.transient:
                raise CoordinationUnavailableError(f"cannot read snapshots: {error}") from None
            damaged = {each.segment.worker for each in error.refused if each.segment is not None}
            stores = [f"store: {self._directory.store_path(each)}" for each in sorted(damaged)]
            raise self._state_error("E612" if stores else "E611", str(error), stores) from None
        except OSError as error:
            raise CoordinationUnavailableError(f"cannot read snapshots: {error}") from None
        self.snapshot_problems = tuple(
            f"{each}; the job resumes from an older one: fsql snapshot verify says more"
            for each in found.refused
        )
        return epoch, found.manifest

    def _state_error(self, code: str, message: str, notes: Sequence[str] = ()) -> FsqlError:
        path = self._directory.path
        helps = (
            f"see what is damaged: fsql snapshot verify --state {path}",
            f"replace damaged stores by what can be read of them: fsql snapshot salvage --state {path}",
            "start with an empty state directory and all input",
        )
        return FsqlError([Diagnostic(code, message, notes=tuple(notes), helps=helps)])

    def last_layout(self, spec: JobSpec) -> Layout | None:
        """Return the layout of the last tick; None if there is none for this plan and number of workers.

        Raises:
            FsqlError: E615 or E643, if the data in coordination cannot be used.
            CoordinationError: if coordination does not answer.
        """
        if not self._takes_requests:
            return None
        with translate_persistent_errors():
            return last_layout(self._commit_client, spec)

    def commit(self, manifest: Manifest, request: str = "") -> Steps[dict[int, tuple[str, ...]]]:
        """Write and commit a manifest; return, by worker, the keys that no kept manifest names.

        This also answers the request for a snapshot with the id `request`, unless it is "".  Files that are
        no longer needed and cannot be removed now are left.

        Raises:
            SnapshotNotWrittenError: if it could not be written.
            CoordinationError: if it could not be committed; if no answer came, it may be committed.
        """
        digest = self._snapshots.write(manifest)
        yield
        yield from self._commit(Committed(manifest.snapshot, digest, manifest.epoch))
        if request:
            with suppress(
                CoordinationError
            ):  # the request stays open, and the next snapshot answers it
                taken = SnapshotTaken(request, manifest.snapshot, manifest.position)
                put_answer(self._commit_client, self.lease.session, taken)
        try:
            unneeded = self._snapshots.retire(manifest.snapshot)
        except (OSError, OtherFormatSnapshotError):
            # The job may go back to a manifest that could not be removed, and needs its part of the logs.
            return {}
        yield
        with suppress(OSError):
            self._logs.on_committed(manifest)
        return unneeded

    def _commit(self, new: Committed) -> Steps[None]:
        for _ in range(_ATTEMPTS):
            try:
                commit_snapshot(self._commit_client, self.lease.session, new)
            except CoordinationUnavailableError:
                yield  # it may have succeeded, and can be repeated
            else:
                return
        raise CoordinationUnavailableError("no answer came to a commit")

    def close(self) -> None:
        """Release the lease, so that another coordinator need not wait until it expires."""
        try:
            self.lease.release()
        except CoordinationError:
            pass
        finally:
            self._lease_client.close()
            self._commit_client.close()


@contextmanager
def translate_persistent_errors() -> Iterator[None]:
    """Raise persistent errors of coordination as errors of the job.

    Raises:
        FsqlError: E615, if stored data is damaged; E643, if access is refused.
    """
    try:
        yield
    except DamagedCoordinationError as error:
        raise _persistent_error("E615", error) from None
    except CoordinationRefusedError as error:
        raise _persistent_error("E643", error, error.help) from None


def _persistent_error(code: str, error: CoordinationError, help_: str | None = None) -> FsqlError:
    return FsqlError([Diagnostic(code, str(error), helps=(help_ or CODES[code].fix,))])
