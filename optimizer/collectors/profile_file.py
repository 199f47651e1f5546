"""A profile as a file; the header has the version of its tables.

The tables are an array, and a row of a table is an array of its columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.owner_map import BINS
from fsql.optimizer.collectors.checked_tables import (
    check_version,
    decode_header,
    decode_tables,
    encode,
)
from fsql.optimizer.collectors.files import FILE_BYTES_MAX
from fsql.optimizer.profile import PROFILE, Profile

if TYPE_CHECKING:
    from pathlib import Path


class _ProfileHeader(msgspec.Struct, frozen=True):
    profile: int
    crc: int


def profile_bytes(profile: Profile) -> bytes:
    """Return the content of the file of a profile."""
    return encode(profile, lambda crc: _ProfileHeader(PROFILE, crc))


def read_profile(path: Path) -> Profile:
    """Return the profile in a file.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is damaged, or of another version.
    """
    with path.open("rb") as file:
        content = file.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise ValueError(f"it has more than {FILE_BYTES_MAX:,} bytes")
    header = decode_header(content, _ProfileHeader)
    check_version(header.profile, PROFILE)
    profile = decode_tables(content, header.crc, Profile)
    _check(profile)
    return profile


def _check(profile: Profile) -> None:
    """Check that numbers are in their ranges: a valid CRC does not guarantee that.

    Raises:
        ValueError: if some are not.
    """
    bins = all(0 <= each.bin < BINS and each.rows >= 0 for each in profile.bins)
    heavy = all(0 <= each.hash < 1 << 32 and each.rows >= 0 for each in profile.heavy)
    seconds = [each.busy_seconds for each in profile.operators]
    seconds += [each.busy_seconds for each in profile.splits]
    if not (bins and heavy and all(math.isfinite(each) and each >= 0 for each in seconds)):
        raise ValueError("it has invalid numbers")
