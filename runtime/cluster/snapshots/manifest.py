"""Manifests: a manifest lists what a snapshot consists of.

It has every segment of the state at a position, with size and hash, and the resume point of every front.
Its bytes end with a hash, which is also stored in coordination: a manifest that was truncated or altered, or
is not the committed one, does not verify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.owner_map import BinRanges, are_bin_ranges
from fsql.compiler.owners import ExchangeRanges, OwnerRanges, Owners
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.runtime.batch import START, Root
from fsql.runtime.dataflow.resume_point import ResumePoint  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

FORMAT: Final = 4
"""The version of the format; a manifest of another version is refused, unless it is in `READ`.

Increase it with each change that older versions would misread, even for a field that they would ignore.
"""

READ: Final = (3, 4)
"""The versions that are read.  In 3 all exchanges have one owner map."""

KEPT: Final = 2
"""How many snapshots are kept; the older one is used if the newest is damaged."""


_EPOCH_BITS: Final = 20
"""A worker's number has at most so many bits; the number of a store has its epoch above them."""


def own_store(worker: int, epoch: int) -> int:
    """Return the number of the store that only this worker has, and only in this epoch has made.

    A worker uses it if another process, which it replaces, still has open the store that is usually its own.
    """
    return epoch << _EPOCH_BITS | worker


def store_parts(store: int) -> tuple[int, int]:
    """Return the worker that has made a store, and the epoch; 0 is that of the usual store of a worker."""
    return store & (1 << _EPOCH_BITS) - 1, store >> _EPOCH_BITS


class StateSegment(msgspec.Struct, frozen=True):
    """A part of the state of one fold on one worker, under `key` in the store with the number `worker`.

    That is the number of the worker, or an `own_store`.

    Segments of one operator are in the order of their snapshots, the oldest first.  `bins` are the hash bins
    whose rows are valid; other rows are ignored.  Bins are never added to a segment.
    """

    worker: int
    key: str
    operator: str
    snapshot: int
    level: int
    rows: int
    size: int
    hash: str
    bins: BinRanges


class SkippedRange(msgspec.Struct, frozen=True):
    """Rows of a front that are never read again: from position `first` on, below `end`."""

    front: int
    first: tuple[int, int]
    end: tuple[int, int]


def skipped_ranges(promises: Mapping[int, Root], first: Root) -> tuple[SkippedRange, ...]:
    """Return the rows from position `first` on that fronts with these promises have read."""
    return tuple(
        SkippedRange(front, (first.time, first.origin), (end.time, end.origin))
        for front, end in sorted(promises.items())
        if end > first
    )


class Manifest(msgspec.Struct, frozen=True):
    """A snapshot: the state as of `position`.

    `owners` is the owner map at the snapshot: worker, first bin and end of each range.  `exchanges` has the
    owner maps of the exchanges that had another one, by name.  Which rows of a segment are valid is in the
    segment.  `choices` are the fold policies and orders of filters.  `members` are the numbers of these
    `workers`, ascending; () stands for 0, 1 and so on.  `present` are the numbers of all workers of the epoch
    when it was made, including those that join and those that leave.  `skipped` are rows after the position
    that were lost to failures (at-most-once): an epoch that starts from this manifest does not read them.
    `graph` is the digest of the plan to which the state belongs.  `rows_left` has how many rows each INSERT
    still has from `position` on, if the job ends when all of them are released; () if that is not known.
    """

    job: str
    tick: int
    epoch: int
    snapshot: int
    position: tuple[int, int]
    workers: int
    segments: tuple[StateSegment, ...] = msgspec.field(name="records")
    fronts: tuple[ResumePoint, ...]
    skipped: tuple[SkippedRange, ...] = msgspec.field(default=(), name="passed_over")
    owners: OwnerRanges = ()
    graph: str = ""
    members: tuple[int, ...] = ()
    present: tuple[int, ...] = ()
    choices: PlanChoices = NO_CHOICES
    exchanges: ExchangeRanges = ()
    rows_left: tuple[int, ...] = ()
    format: int = FORMAT

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the workers, ascending."""
        return self.members or tuple(range(self.workers))

    @property
    def compact_owners(self) -> Owners:
        """Return the owners with workers numbered from 0 without a gap, in the same order."""
        numbers = {number: index for index, number in enumerate(self.numbers)}

        def compact(ranges: OwnerRanges) -> OwnerRanges:
            return tuple((numbers[owner], first, end) for owner, first, end in ranges)

        named = tuple((name, compact(ranges)) for name, ranges in self.exchanges)
        return Owners.of_ranges(compact(self.owners), named, self.workers)

    @property
    def root(self) -> Root:
        """Return the position as a root position."""
        return Root(*self.position)

    def store_of(self, worker: int) -> int:
        """Return the store in which a worker continues: the newest that this snapshot needs of it."""
        stores = {segment.worker for segment in self.segments}
        return max((each for each in stores if store_parts(each)[0] == worker), default=worker)

    def rows_left_of(self, insert_limits: tuple[int, ...]) -> tuple[int, ...]:
        """Return how many rows each INSERT has from the position on, given their number in all."""
        return insert_limits if not insert_limits or self.root == START else self.rows_left

    def with_skipped(self, more: tuple[SkippedRange, ...], epoch: int, snapshot: int) -> Manifest:
        """Return a manifest of the same state under another snapshot number, with more skipped rows."""
        skipped = (*self.skipped, *more)
        return msgspec.structs.replace(self, epoch=epoch, snapshot=snapshot, skipped=skipped)


class DamagedManifestError(Exception):
    """The bytes of a manifest are damaged; the message says how."""


class OtherFormatError(DamagedManifestError):
    """A manifest is undamaged, but of a format that this version of fsql does not read."""


class _Format(msgspec.Struct):
    """The fields that manifests of all formats have."""

    format: int = FORMAT


def fault_of(manifest: Manifest, graph: str, operators: Collection[str]) -> FsqlError | None:
    """Return the error for a manifest of another plan than that of the job, None if the plan is the same.

    `operators` are the operators with state in the plan, as this version of fsql compiles it.
    """
    if manifest.graph != graph:
        message = f"snapshot {manifest.snapshot} is of another plan than the job"
        return FsqlError([Diagnostic("E623", message, helps=(CODES["E623"].fix,))])
    unknown = sorted({segment.operator for segment in manifest.segments}.difference(operators))
    if unknown:
        message = f"the job has no operator for the state of {', '.join(unknown)}"
        note = f"snapshot {manifest.snapshot} was made by a version of fsql that had one"
        return FsqlError([Diagnostic("E625", message, notes=(note,), helps=(CODES["E625"].fix,))])
    return None


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as bytes that end with their hash."""
    body = msgspec.json.encode(manifest)
    return body + b"\n" + manifest_hash(body).encode() + b"\n"


def manifest_hash(body: bytes) -> str:
    """Return the hash of a manifest's body, in hexadecimal."""
    return xxhash.xxh3_128_hexdigest(body)


def manifest_of(data: bytes) -> Manifest:
    """Decode a manifest.

    Raises:
        OtherFormatError: if it is of another format.
        DamagedManifestError: if it is damaged.
    """
    body, newline, end = data.partition(b"\n")
    if not newline or end != manifest_hash(body).encode() + b"\n":
        raise DamagedManifestError("its hash does not match")
    try:
        found = msgspec.json.decode(body, type=_Format).format
        if found not in READ:
            raise OtherFormatError(f"its format is {found}, and this is {FORMAT}")
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise DamagedManifestError(str(error)) from None
    for segment in manifest.segments:
        if not are_bin_ranges(segment.bins):
            raise DamagedManifestError(f'the bins of state segment "{segment.key}" are not ranges')
    return msgspec.structs.replace(manifest, format=FORMAT)
