"""Result tables that a collector has written to a state directory, for later readers.

    STATE/statistics/results.json

The first line is a JSON object: the version of the tables, the newest interval in them, and the CRC-32 of the
rest, the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.statistics import DIRECTORY
from fsql.optimizer.collectors.built_in import collect
from fsql.optimizer.collectors.checked_tables import (
    check_version,
    decode_header,
    decode_tables,
    encode,
)
from fsql.optimizer.collectors.files import FILE_BYTES_MAX, newest_interval
from fsql.optimizer.statistics import RESULTS, Statistics

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.optimizer.collectors.files import Kept

LATE: Final = 1
"""The maximum age of results, in intervals before the newest one."""


class _Header(msgspec.Struct, frozen=True):
    results: int
    interval: int
    crc: int


def results_file(state: Path) -> Path:
    """Return the path of the results in a state directory."""
    return state / DIRECTORY / "results.json"


def results_bytes(interval: int, statistics: Statistics) -> bytes:
    """Return the content of the file, for statistics of intervals up to `interval`.

    Raises:
        ValueError: if there are more bytes than readers accept.
    """
    content = encode(statistics, lambda crc: _Header(RESULTS, interval, crc))
    if len(content) > FILE_BYTES_MAX // 2:
        raise ValueError(f"the results have {len(content):,} bytes")
    return content


def written_interval(state: Path) -> int:
    """Return the interval of the results in a state directory, -1 if there are none that can be read."""
    try:
        return _read(results_file(state))[0]
    except (OSError, ValueError):
        return -1


def newest_statistics(state: Path, kept: Kept | None = None) -> Statistics:
    """Return the results in a state directory if they are recent, else those of the built-in collector.

    Results that cannot be used are reported as problems.  `kept` is that of `built_in.collect`.
    """
    path, problems = results_file(state), tuple[str, ...]()
    try:
        interval, statistics = _read(path)
        if 0 <= newest_interval(state) - interval <= LATE:
            return statistics
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        problems = (f'"{path}" is skipped: {str(error).partition(chr(10))[0]}',)
    found = collect(state, kept)
    return found._replace(problems=problems + found.problems)


def _read(path: Path) -> tuple[int, Statistics]:
    """Return the interval of results, and the results.

    Raises:
        OSError: if they cannot be read.
        ValueError: if they are damaged, or of another version.
    """
    with path.open("rb") as file:
        content = file.read(FILE_BYTES_MAX)
    header = decode_header(content, _Header)
    check_version(header.results, RESULTS)
    return header.interval, decode_tables(content, header.crc, Statistics)
