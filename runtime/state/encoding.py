"""The encoding of incremental snapshots: a header line, an Arrow stream, and a hash of both.

    {"format":1,"rows":2,"keys":1,"appends":false}      padded with spaces, ends with a newline
    Arrow IPC stream of one record batch, compressed with LZ4
    xxh3_128 of all before it, 16 bytes

Arrow has no checksum, and most flipped bits would read as other data, so the hash is checked before Arrow
reads anything.  Extension types are neither written nor read, since reading one may run what is
registered for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import xxhash

from fsql.runtime.kernels.keyed.incremental_snapshot import EXPIRES, IncrementalSnapshot

if TYPE_CHECKING:
    from fsql.runtime.state.store import Octets

FORMAT: Final = 1
"""The version of the format; other versions are refused."""
_HASH_BYTES: Final = 16
_ALIGNMENT: Final = 64
_EXTENSION: Final = b"ARROW:extension:name"


class UnreadableSnapshotError(Exception):
    """Bytes are not a valid encoded snapshot; the text says why."""


class _Format(msgspec.Struct):
    """The part of the header that is common to all formats."""

    format: int


class _Header(_Format):
    rows: int
    keys: int
    appends: bool


def encode_snapshot(snapshot: IncrementalSnapshot) -> memoryview:
    """Return an incremental snapshot as bytes."""
    rows = snapshot.rows
    assert not _extensions(rows.schema), "state has no extension types"
    header = _Header(FORMAT, rows.num_rows, snapshot.keys, snapshot.appends)
    # Large data is processed in Arrow calls only, which release the interpreter lock.
    body = pa.BufferOutputStream()
    body.write(_pad(msgspec.json.encode(header)))
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(body, rows.schema, options=options) as stream:
        stream.write_batch(rows)
    written = body.getvalue()
    whole = pa.BufferOutputStream()
    whole.write(written)
    whole.write(xxhash.xxh3_128_digest(written))
    return memoryview(whole.getvalue()).cast("B")


def _pad(line: bytes) -> bytes:
    """Return a header padded so that the data after it is aligned."""
    return line + b" " * (-(len(line) + 1) % _ALIGNMENT) + b"\n"


def hash_of(data: Octets) -> str:
    """Return the hash that encoded bytes end with, in hexadecimal."""
    return bytes(data[-_HASH_BYTES:]).hex()


def decode_snapshot(data: Octets) -> IncrementalSnapshot:
    """Return the incremental snapshot; the inverse of `encode_snapshot`.

    Raises:
        UnreadableSnapshotError: if the bytes are damaged, or of another format.
    """
    body = _body(data)
    header, start = _header(body)
    try:
        with pa.ipc.open_stream(pa.py_buffer(body[start:])) as stream:
            if _extensions(stream.schema):
                raise UnreadableSnapshotError("it has extension types")
            batches = list(stream)
        for batch in batches:
            batch.validate(full=True)
    except pa.ArrowException as error:
        raise UnreadableSnapshotError(str(error)) from None
    return _snapshot(header, batches)


def rows_of(data: Octets) -> int:
    """Return the number of rows of an encoded snapshot, without decoding them.

    Raises:
        UnreadableSnapshotError: if the bytes are damaged, or of another format.
    """
    return _header(_body(data))[0].rows


def _body(data: Octets) -> memoryview:
    """Return the bytes before the hash, after checking it."""
    view = memoryview(data).cast("B")
    body = view[:-_HASH_BYTES]
    if len(view) <= _HASH_BYTES or xxhash.xxh3_128_digest(body) != view[-_HASH_BYTES:]:
        raise UnreadableSnapshotError("its hash does not match")
    return body


def _header(body: memoryview) -> tuple[_Header, int]:
    """Return the header and its length."""
    line, newline, _ = bytes(body[:4096]).partition(b"\n")
    try:
        known = msgspec.json.decode(line, type=_Format)
        if known.format != FORMAT:
            raise UnreadableSnapshotError(f"its format is {known.format}, and this is {FORMAT}")
        return msgspec.json.decode(line, type=_Header), len(line) + len(newline)
    except msgspec.MsgspecError as error:
        raise UnreadableSnapshotError(f"its header is invalid: {error}") from None


def _snapshot(header: _Header, batches: list[pa.RecordBatch]) -> IncrementalSnapshot:
    if len(batches) != 1 or batches[0].num_rows != header.rows:
        rows = sum(batch.num_rows for batch in batches)
        raise UnreadableSnapshotError(f"it has {rows} rows, and its header says {header.rows}")
    (rows,) = batches
    names = rows.schema.names
    if not names or names[-1] != EXPIRES or not 0 <= header.keys < len(names):
        raise UnreadableSnapshotError("its columns are not those of an incremental snapshot")
    return IncrementalSnapshot(rows, header.keys, header.appends)


def _extensions(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that have an extension type, known or not, at any depth."""
    return [field.name for field in schema if _is_extension(field)]


def _is_extension(field: pa.Field) -> bool:
    if isinstance(field.type, pa.BaseExtensionType) or _EXTENSION in (field.metadata or {}):
        return True
    return any(_is_extension(child) for child in _children(field.type))


def _children(kind: Any) -> list[pa.Field]:  # noqa: ANN401 - Arrow is untyped
    if pa.types.is_dictionary(kind):
        return [pa.field("", kind.value_type)]
    return [kind.field(index) for index in range(kind.num_fields)]
