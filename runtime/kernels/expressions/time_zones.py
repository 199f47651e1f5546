"""Time zones in columns: local times and instants, windows of local times, and texts with an offset.

`fsql.compiler.functions.time_zones` defines zones; all values are microseconds in arrays of int64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.time_zones import (
    offset_text,
    shown_from,
    shown_up_to,
    zone_of,
)
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.kernels.expressions.timestamp_text import format_timestamps, parse_timestamps
from fsql.runtime.kernels.expressions.vectors import TIMESTAMP_RANGE, codes_where

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.expressions.strict import Parse
    from fsql.runtime.kernels.expressions.vectors import Codes


_MINUTE_US = 60_000_000
_WITH_OFFSET = r":[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)\z"


class _Zone(NamedTuple):
    transitions: Ints
    offsets: Ints
    local_transitions: Ints
    shown_up_to: Ints
    shown_from: Ints


@lru_cache(maxsize=64)
def _zone(name: str) -> _Zone:
    zone = zone_of(name)
    parts = (zone.transitions, zone.offsets, zone.local_transitions)
    shown = (shown_up_to(name), shown_from(name))
    return _Zone(*(np.array(part, np.int64) for part in parts + shown))


def offsets_of(instants: Ints, zone: str) -> Ints:
    """Return the offset of the zone from UTC at instants."""
    known = _zone(zone)
    return known.offsets[known.transitions.searchsorted(instants, "right")]


def begins_of(local: Ints, zone: str) -> Ints:
    """Return the first instants at which a clock shows local times, or later ones if it skips them."""
    known = _zone(zone)
    index = known.shown_up_to.searchsorted(local, "right")
    instants = local - known.offsets[index]
    if not len(known.transitions):
        return instants
    before = known.transitions[np.maximum(index, 1) - 1]
    return np.where(index == 0, instants, np.maximum(instants, before))


def ends_of(local: Ints, zone: str) -> Ints:
    """Return the first instants after which a clock never shows a time before the local times."""
    known = _zone(zone)
    index = known.shown_from.searchsorted(local, "left")
    instants = local - known.offsets[index]
    count = len(known.transitions)
    if not count:
        return instants
    after = known.transitions[np.minimum(index, count - 1)]
    return np.where(index == count, instants, np.minimum(instants, after))


def to_local(zone: str) -> Callable[[Ints], tuple[Ints, Codes | None]]:
    """Return the conversion of instants to local times; E504 outside of the years 1 to 9999."""
    return lambda instants: _in_range(instants + offsets_of(instants, zone))


def to_instants(zone: str) -> Callable[[Ints], tuple[Ints, Codes | None]]:
    """Return the conversion of local times to instants; E504 outside of the years 1 to 9999."""

    def convert(local: Ints) -> tuple[Ints, Codes | None]:
        known = _zone(zone)
        return _in_range(
            local - known.offsets[known.local_transitions.searchsorted(local, "right")]
        )

    return convert


def _in_range(values: Ints) -> tuple[Ints, Codes | None]:
    outside = (values < TIMESTAMP_MIN) | (values > TIMESTAMP_MAX)
    return values, codes_where(outside, TIMESTAMP_RANGE)


def parse_instants(zone: str) -> Parse:
    """Return the parser of texts as instants; a text without an offset is a local time."""
    convert = to_instants(zone)

    def parse(texts: pa.StringArray) -> tuple[Ints, Codes | None]:
        texts = pc.ascii_trim(texts, " ")
        values, codes = parse_timestamps(texts)
        given = pc.match_substring_regex(texts, _WITH_OFFSET).fill_null(fill_value=True)
        local = ~given.to_numpy(zero_copy_only=False)
        if codes is not None:
            local &= codes == 0
        moved, beyond = convert(values[local])
        values = values.copy()
        values[local] = moved
        if beyond is not None:
            codes = np.zeros(len(values), np.int16) if codes is None else codes
            codes[local] = beyond
        return values, codes

    return parse


def format_instants(instants: Ints, zone: str, digits: int | None = None) -> pa.StringArray:
    """Return instants as ISO 8601 in the local time of the zone, with its offset; without NULL.

    An instant is in UTC if its offset is not in whole minutes, or its local time is out of the years 1 to
    9999.
    """
    offsets = offsets_of(instants, zone)
    local = instants + offsets
    unwritten = (offsets % _MINUTE_US != 0) | (local < TIMESTAMP_MIN) | (local > TIMESTAMP_MAX)
    offsets = np.where(unwritten, 0, offsets)
    texts = format_timestamps(instants + offsets, digits)
    if not offsets.any():
        return texts
    distinct, indexes = np.unique(offsets, return_inverse=True)
    written = ["Z" if offset == 0 else offset_text(offset) for offset in distinct.tolist()]
    suffixes = pa.array(written, pa.string()).take(pa.array(indexes))
    return pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, -1), suffixes, "")
