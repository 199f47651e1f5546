"""The state directory of a simulated job: one disk, the stores on it, and its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.simulation.disk import Disk
from fsql.runtime.simulation.stores import SimulatedDirectory, manifest_path, segment_path
from fsql.runtime.simulation.world import MILLISECOND
from fsql.runtime.state.snapshots import DamagedSnapshotError, Snapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.world import World


class SimulatedState:
    """The disk that all processes share."""

    def __init__(self, world: World, slow_us: int) -> None:
        """Start with an empty disk; `slow_us` is the maximum time of an operation."""
        self.disk = Disk(world.tape.stream("disk"))
        self.when_committed: Callable[[], None] | None = None
        """Called soon after the next snapshot is committed."""
        self._world = world
        self._slow_us = slow_us
        self._time = world.tape.stream("disk time")
        self._snapshots = Snapshots(SimulatedDirectory(self.disk))
        self._stores_open: dict[int, str] = {}
        self._committed = False

    def directory(self, process: Process) -> SimulatedDirectory:
        """Return the state directory for a process."""
        return SimulatedDirectory(self.disk, process, self._disk_us, self._stores_open)

    def close_stores(self, process: Process) -> None:
        """Close the stores that a process has open."""
        opened = self._stores_open
        for number in [number for number, name in opened.items() if name == process.name]:
            del opened[number]

    def on_committed(self) -> None:
        """Record that a snapshot is committed."""
        self._committed = True
        if self.when_committed is not None:
            self._world.after(MILLISECOND, self.when_committed)
            self.when_committed = None

    def rows_needed(self, fronts: Iterable[int]) -> dict[int, int]:
        """Return for each front the first row that a kept snapshot needs; empty if that is unknown."""
        needed: dict[int, int] = {}
        if not self._committed:
            return {}
        try:
            kept = self._read_manifests()
        except (DamagedSnapshotError, OSError):
            return {}
        for manifest in kept:
            rows = {point.front: point.row for point in manifest.fronts}
            for number in fronts:
                row = rows.get(number, 0)
                needed[number] = min(needed.get(number, row), row)
        return needed

    def corrupt_newest(self) -> bool:
        """Flip a bit in a file that only the newest snapshot needs; return whether there was such a file.

        The previous snapshot remains undamaged, so that the job can continue from it.
        """
        try:
            kept = self._read_manifests()
            if len(kept) < 2:
                return False
            self._snapshots.verify(kept[-2])
        except (DamagedSnapshotError, OSError):
            return False
        older = {segment_path(segment) for each in kept[:-1] for segment in each.segments}
        newest = [segment_path(segment) for segment in kept[-1].segments]
        paths = [manifest_path(kept[-1].snapshot), *(p for p in newest if p not in older)]
        return self.disk.rot(paths)

    def _read_manifests(self) -> list[Manifest]:
        """Return the manifests on the disk, newest last.

        Raises:
            DamagedSnapshotError: if one is damaged.
            OSError: if one cannot be read now.
        """
        return [self._snapshots.read(number) for number in reversed(self._snapshots.numbers())]

    def _disk_us(self) -> int:
        """Return the time of an operation of the disk."""
        slow_us = self._slow_us + self.disk.delay_us
        return 50 + self._time.below(slow_us)
