"""Values of generated columns that have no bounds, and the functions that parse values in options."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.times import parse_time
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import octets_of_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fsql.compiler.sqltypes import SqlType

    Hashes = NDArray[np.uint64]

_SECOND_US: Final = 1_000_000


def in_32_bits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest numbers that FLOAT has."""
    return values.astype(np.float32).astype(np.float64)


def _times_of_day(hashes: Hashes) -> pa.Array:
    """Return times of whole seconds."""
    seconds = (hashes % np.uint64(86_400)).astype(np.int64)
    return pa.array(seconds * _SECOND_US)


def _octets(hashes: Hashes) -> pa.Array:
    """Return the eight octets of each number."""
    buffers = [None, pa.py_buffer(hashes.astype("<u8").tobytes())]
    octets = pa.FixedSizeBinaryArray.from_buffers(pa.binary(8), len(hashes), buffers)
    return octets_of_binary(octets)


BY_HASH: Final[Mapping[Kind, Callable[[Hashes], pa.Array]]] = {
    Kind.BOOLEAN: lambda hashes: pa.array(hashes >> np.uint64(63) == 1),
    Kind.BYTES: _octets,
    Kind.TIME: _times_of_day,
}
"""The kinds whose values have no bounds, and are made of a hash."""


def _truth(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError(text)
    return text.lower() == "true"


_READERS: Final[Mapping[Kind, Callable[[str], Any]]] = {
    Kind.BOOLEAN: _truth,
    Kind.DATE: parse_date,
    Kind.DOUBLE: float,
    Kind.FLOAT: float,
    Kind.STRING: str,
    Kind.BYTES: lambda text: text.encode().decode("latin-1"),
    Kind.TIME: parse_time,
    Kind.TIMESTAMP: parse_timestamp,
}
"""The functions that parse values, by kind; values of other kinds are integers."""


def reader_of(sql_type: SqlType) -> Callable[[str], Any]:
    """Return the function that parses a value of a type."""
    if sql_type.kind is Kind.DECIMAL:
        return lambda text: _digits(text, sql_type.scale)
    return _READERS.get(sql_type.kind, int)


def _digits(text: str, scale: int) -> int:
    scaled = Decimal(text).scaleb(scale)
    if scaled != scaled.to_integral_value():
        raise ValueError(text)
    return int(scaled)
