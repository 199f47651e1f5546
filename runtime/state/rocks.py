"""The state store of one worker in RocksDB.

Properties of rocksdict on which this module depends:

* Unless it is in raw mode, it stores serialized Python objects, and reading one may run code.  So only raw
  mode is used.
* An iteration that encounters damage ends without an error; only the status of the iterator shows it.  `keys`
  checks this status.
* A database whose list of files (RocksDB's MANIFEST) is damaged can open empty.  So a missing key does not
  prove that there is no state: readers know from a manifest which keys exist.
* Every call except `flush` holds the interpreter lock, even while it waits.  So there is no write-ahead
  log, whose sync would stop all other threads.  Instead, a value goes to the memtable in slices of at most
  `SLICE_BYTES`, with a pause after each in which other threads run; `flush`, which makes it durable,
  releases the lock.

Each value has a **head**, which makes it visible.  A `put` writes all slices of all its values, then all
heads in one batch, so a crash leaves all of its values or none.  Head and slices of a value are adjacent, and
so are keys with a common prefix.  So damage to one table file of RocksDB affects only values that were
written at about the same time, and a store with a damaged table file can still be opened for reading.

RocksDB checks blocks of tables when it reads them, which it may never do, and works around damage in some.
So each `put` also writes the size and the hash of each table that is new into the file `checksums`, next to
the tables; `check_store` compares.  Manifests of snapshots cannot have them: RocksDB rewrites tables between
two snapshots.  Nothing but `check_store` needs that file, so it is not synced, and ignored if it is damaged.
"""

from __future__ import annotations

import struct
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import xxhash
from rocksdict import (
    AccessType,
    BlockBasedOptions,
    ChecksumType,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
    WriteOptions,
)

from fsql.runtime.state.store import DamagedStoreError, StateStoreError, StoreInUseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fsql.runtime.state.store import Octets

SLICE_BYTES: Final = 1 << 18
"""A slice is copied in about 0.2 ms, during which no other thread runs."""
PAUSE_SECONDS: Final = 1e-4
"""The minimum time for other threads between two slices."""
_FLUSH_BYTES: Final = 16 << 20
"""How much is flushed at once: much less than a memtable holds, so that a write never waits for a flush."""
_WRITE_BUFFER_BYTES: Final = 64 << 20
_FILE_BYTES: Final = 8 << 20
_END_OF_KEY: Final = b"\0"
"""Ends the key of a value in the database; in the key of a slice, the number of the slice follows."""
_AFTER_KEY: Final = b"\1"
"""Appended to a key, this sorts after its head and all its slices."""
_CHECKSUMS: Final = "checksums"
_NOT_LINKED: Final = ("LOG", "LOCK", "rocksdict-config.json", _CHECKSUMS)
_CONFIGURATION: Final = "rocksdict-config.json"
"""What rocksdict reads when it opens a store for writing; it is the same in every store."""
_LIST: Final = "MANIFEST-"
"""How the name of RocksDB's list of tables begins, a file that grows."""
_READ_BYTES: Final = 1 << 18
"""How much of a table is read and hashed at once; the interpreter lock is held for about 0.1 ms."""
_HEAD: Final = struct.Struct("<QI")
"""The content of a head: the size of the value, and that of its slices."""
_TRANSIENT: Final = ("Input/output error", "Too many open files", "Cannot allocate memory")
"""Parts of messages of operating system errors after which another attempt may succeed."""
_IN_USE: Final = ("LOCK: Resource temporarily unavailable", "lock hold by current process")
"""Parts of RocksDB's messages when another process has the store open, and when this process has."""
_DAMAGED: Final = ("Corruption: ", "does not exist", "No such file or directory")
"""Parts of RocksDB's messages when files of a store are changed, cut short, or missing."""
_VALUE_BYTES_MAX: Final = 1 << 40
"""The greatest valid size in a head."""


def check_store(directory: Path) -> None:
    """Check that a worker can open a store and write to it: read and check all of its tables.

    A reader skips tables that it does not need, and accepts damage that keeps a worker from writing.

    Raises:
        StateStoreError: if it cannot be opened, or a file is damaged.
    """
    try:
        _check_store(directory)
    except StateStoreError:
        # The worker that writes the store may have moved the files: open it again.
        _check_store(directory)


class _FileSum(msgspec.Struct, frozen=True, array_like=True):
    """The size of a file, or of its beginning if it grows, and the hash of that."""

    size: int
    hash: str


def _sum_of(path: Path, size: int | None = None) -> _FileSum:
    """Return size and hash of a file, or of its first `size` bytes."""
    left = path.stat().st_size if size is None else size
    total, hasher = 0, xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while left > 0 and (part := file.read(min(left, _READ_BYTES))):
            hasher.update(part)
            total, left = total + len(part), left - len(part)
    return _FileSum(total, hasher.hexdigest())


def _read_sums(directory: Path) -> dict[str, _FileSum]:
    """Return what the file of checksums says; nothing if there is none, or it is damaged."""
    with suppress(OSError, msgspec.MsgspecError):
        body, _, digest = (directory / _CHECKSUMS).read_bytes().partition(b"\n")
        if xxhash.xxh3_128_hexdigest(body).encode() == digest:
            return msgspec.json.decode(body, type=dict[str, _FileSum])
    return {}


def _write_sums(directory: Path, sums: Mapping[str, _FileSum]) -> None:
    body = msgspec.json.encode(sums, order="sorted")
    partial = directory / f"{_CHECKSUMS}.partial"
    partial.write_bytes(body + b"\n" + xxhash.xxh3_128_hexdigest(body).encode())
    partial.replace(directory / _CHECKSUMS)


def _check_files(directory: Path) -> None:
    """Compare the files of a store with their checksums; those that were removed meanwhile are not needed.

    Raises:
        StateStoreError: if one is damaged.
    """
    try:
        for name, written in _read_sums(directory).items():
            size = written.size if name.startswith(_LIST) else None
            with suppress(FileNotFoundError):
                if _sum_of(directory / name, size) != written:
                    raise DamagedStoreError(f'"{directory / name}" is not as it was written')
    except OSError as error:
        raise StateStoreError(f'cannot read "{error.filename}": {error.strerror}') from None


def _check_store(directory: Path) -> None:
    _check_files(directory)
    store = RocksStore(directory, read_only=True, strict=True)
    try:
        store.check()
    finally:
        store.close()


def _options(*, strict: bool) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(create_if_missing=True)
    # A writer without checks would retry forever on a full disk; a reader with checks could not open the
    # store because of one damaged table.
    options.set_paranoid_checks(enabled=strict)
    options.set_compression_type(DBCompressionType.none())  # Arrow has compressed already
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_target_file_size_base(_FILE_BYTES)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    tables = BlockBasedOptions()
    tables.disable_cache()  # what is read is read once
    tables.set_checksum_type(ChecksumType.xxh3())
    tables.set_bloom_filter(10, block_based=False)  # skip tables that do not have the key
    options.set_block_based_table_factory(tables)
    return options


def _write_options() -> WriteOptions:
    options = WriteOptions()
    options.disable_wal = True  # type: ignore[assignment,method-assign] # the stub is mistaken
    options.no_slowdown = True  # fail instead of waiting with the interpreter lock held
    return options


class RocksStore:
    """A directory of RocksDB as a `StateStore`.

    After a failed write the database is closed, and opened again for the next: RocksDB refuses writes
    after a disk was full.
    """

    def __init__(
        self, directory: Path, *, read_only: bool = False, strict: bool | None = None
    ) -> None:
        """Open it; unless `strict`, which writers are, a store with a damaged table can be opened."""
        self._directory = directory
        self._read_only = read_only
        self._strict = not read_only if strict is None else strict
        self._write_options = _write_options()
        self._unflushed_bytes = 0
        self._failed: tuple[str, ...] = ()
        self._database: Rdict | None = None
        self._link_directory: tempfile.TemporaryDirectory[str] | None = None
        self._sums = {} if read_only else _read_sums(directory)
        self._unsummed: set[str] = set()
        """Tables whose checksums were not written when they were: it is too late."""
        try:
            self._open()
            if not read_only:
                self._unsummed = self._tables().difference(self._sums)
        except StateStoreError:
            self._close_database()
            raise

    def _open(self) -> Rdict:
        if self._database is not None:
            return self._database
        access = AccessType.read_write()
        if self._read_only:
            # rocksdict would create a missing directory; an empty one is not a store.
            if not (self._directory / "CURRENT").is_file():
                raise StateStoreError(f'"{self._directory}" holds no state store')
            access = AccessType.read_only(error_if_log_file_exist=False)
        with self._translate_errors(f'cannot open the state store "{self._directory}"'):
            if not self._read_only:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            options = _options(strict=self._strict)
            directory = self._links() if self._read_only else self._directory
            # Also passed for the only column family: otherwise rocksdict uses options of an older version.
            self._database = Rdict(str(directory), options, {"default": options}, access)
        return self._database

    @contextmanager
    def _translate_errors(self, attempt: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - rocksdict raises no narrower type
            message = f"{attempt}: {error}".strip()
            if self._link_directory is not None:
                message = message.replace(self._link_directory.name, str(self._directory))
            if any(reason in message for reason in _IN_USE):
                raise StoreInUseError(f"{attempt}: it is in use") from None
            transient = any(reason in message for reason in _TRANSIENT)
            if not transient and any(reason in message for reason in _DAMAGED):
                raise DamagedStoreError(message) from None
            raise StateStoreError(message, transient=transient) from None

    def _links(self) -> Path:
        """Return a directory of links to the files of the store.

        RocksDB and rocksdict write into the directory that they open, even read-only; the store may be on a
        disk that is read-only, or belong to another user.
        """
        if self._link_directory is not None:
            self._link_directory.cleanup()
        self._link_directory = tempfile.TemporaryDirectory(prefix="fsql-")
        links = Path(self._link_directory.name)
        for file in self._directory.resolve().iterdir():
            if not file.name.startswith(_NOT_LINKED):
                (links / file.name).symlink_to(file)
        return links

    def put(self, segments: Mapping[str, Octets]) -> None:
        """Store all values or none; durable when it returns."""
        assert not self._read_only, "a store that is open for reading only is not written"
        try:
            self.remove(self._failed)
            self._failed = tuple(key for key in segments if self._head(key) is None)
            self._put_slices(segments)
            heads = WriteBatch(raw_mode=True)
            for key, value in segments.items():
                heads[_head_key(key)] = _HEAD.pack(len(value), SLICE_BYTES)
            with self._translate_errors("cannot write"):
                self._open().write(heads, self._write_options)
            self._flush()
            self._failed = ()
            self._record_sums()
        except StateStoreError:
            self._close_database()
            raise

    def _put_slices(self, segments: Mapping[str, Octets]) -> None:
        database = self._open()
        for key, value in segments.items():
            view = memoryview(value)
            for number, start in enumerate(range(0, len(view), SLICE_BYTES)):
                part = bytes(view[start : start + SLICE_BYTES])
                with self._translate_errors("cannot write"):
                    database.put(_slice_key(key, number), part, self._write_options)
                self._unflushed_bytes += len(part)
                if self._unflushed_bytes >= _FLUSH_BYTES:
                    self._flush()
                time.sleep(PAUSE_SECONDS)

    def _flush(self) -> None:
        with self._translate_errors("cannot write"):
            self._open().flush(wait=True)
        self._unflushed_bytes = 0

    def _tables(self) -> set[str]:
        """Return the names of the tables in use, each of which is complete."""
        with self._translate_errors("cannot list the tables"):
            return {str(table["name"]).lstrip("/") for table in self._open().live_files()}

    def _record_sums(self) -> None:
        """Write the checksums of the tables, and of RocksDB's list of them; without them, less is checked."""
        with suppress(OSError):
            sums = {}
            for name in self._tables() - self._unsummed:
                with suppress(FileNotFoundError):  # RocksDB has rewritten it
                    sums[name] = self._sums.get(name) or _sum_of(self._directory / name)
            for name in ((self._directory / "CURRENT").read_text().strip(), _CONFIGURATION):
                sums[name] = _sum_of(self._directory / name)
            if sums != self._sums:
                self._sums = sums
                _write_sums(self._directory, sums)

    def _close_database(self) -> None:
        """Close the database; after an error, data that is not durable is not needed."""
        database, self._database = self._database, None
        self._unflushed_bytes = 0
        if database is not None:
            with suppress(StateStoreError), self._translate_errors("cannot close"):
                database.close()
        if self._link_directory is not None:
            self._link_directory.cleanup()
            self._link_directory = None

    def get(self, key: str) -> memoryview | None:
        """Return the value under a key, or None."""
        try:
            return self._get(key)
        except StateStoreError:
            if not self._read_only:
                raise
            # The worker that writes the store may have moved the files: open it again.
            self._close_database()
            return self._get(key)

    def _get(self, key: str) -> memoryview | None:
        head = self._head(key)
        if head is None:
            return None
        database = self._open()
        size, slice_bytes = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0)
        if not slice_bytes or size > _VALUE_BYTES_MAX:
            raise StateStoreError(f'cannot read "{key}": its head is damaged')
        value = bytearray(size)
        for number, start in enumerate(range(0, size, slice_bytes)):
            with self._translate_errors(f'cannot read "{key}"'):
                part = database.get(_slice_key(key, number))
            wanted = min(slice_bytes, size - start)
            if part is None or len(part) != wanted:
                found = "missing" if part is None else f"of {len(part)} bytes"
                raise StateStoreError(
                    f'cannot read "{key}": slice {number} is {found}, and not of {wanted} bytes'
                )
            value[start : start + wanted] = part
            if start:
                time.sleep(PAUSE_SECONDS)
        return memoryview(value).toreadonly()

    def _head(self, key: str) -> bytes | None:
        with self._translate_errors(f'cannot read "{key}"'):
            head: bytes | None = self._open().get(_head_key(key))
        return head

    def keys(self) -> tuple[str, ...]:
        """Return all keys, ascending; an iteration that damage cut short is an error."""
        found = []
        with self._translate_errors("cannot list the keys"):
            cursor = self._open().iter()
            cursor.seek_to_first()
            while cursor.valid():
                name = cursor.key().partition(_END_OF_KEY)[0]
                found.append(name.decode())
                cursor.seek(name + _AFTER_KEY)
            cursor.status()
        return tuple(found)

    def check(self) -> None:
        """Read all tables, and so check the checksums of their blocks.

        Raises:
            StateStoreError: if one is damaged.
        """
        with self._translate_errors("cannot read all tables"):
            cursor = self._open().iter()
            cursor.seek_to_first()
            while cursor.valid():
                cursor.value()
                cursor.next()
            cursor.status()

    def remove(self, keys: Iterable[str]) -> None:
        """Remove the values under the keys; the next `put` makes that durable."""
        assert not self._read_only, "a store that is open for reading only is not written"
        database = self._open()
        with self._translate_errors("cannot remove"):
            for key in keys:
                name = key.encode()
                database.delete_range(name + _END_OF_KEY, name + _AFTER_KEY, self._write_options)

    def close(self) -> None:
        """Close the database."""
        self._close_database()


def _head_key(key: str) -> bytes:
    assert "\0" not in key
    return key.encode() + _END_OF_KEY


def _slice_key(key: str, number: int) -> bytes:
    return b"%s%08d" % (_head_key(key), number)
