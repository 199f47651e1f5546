"""Result tables that a collector has written to a state directory, for later readers.

    STATE/statistics/results.json

The first line is a JSON object: the version of the tables, the newest interval in them, and the CRC-32 of the
rest, the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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
from fsql.optimizer.statistics import BUILT_IN, RESULTS, SPARK, Statistics

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.optimizer.collectors.files import Kept

AGE_MAX: Final = 6
"""The maximum age of results, in intervals before the newest one: ticks are for loads that last."""


class Collected(NamedTuple):
    """Statistics, and where they are from: the collector, and the newest interval in them.

    `age` is how many intervals older than the newest files this interval is.
    """

    statistics: Statistics
    collector: str
    interval: int
    age: int


class _Header(msgspec.Struct, frozen=True):
    results: int
    interval: int
    crc: int
    collector: str = SPARK


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
        return _read(results_file(state))[0].interval
    except (OSError, ValueError):
        return -1


def newest_statistics(state: Path, kept: Kept | None = None) -> Statistics:
    """Return the statistics of `newest_collected`."""
    return newest_collected(state, kept).statistics


def newest_collected(state: Path, kept: Kept | None = None) -> Collected:
    """Return the results in a state directory if they are recent, else those of the built-in collector.

    Results that cannot be used are reported as problems.  `kept` is that of `built_in.collect`.
    """
    path, problems = results_file(state), tuple[str, ...]()
    newest = newest_interval(state)
    try:
        header, statistics = _read(path)
        age = newest - header.interval
        if 0 <= age <= AGE_MAX:
            return Collected(statistics, header.collector, header.interval, age)
        why = "of no interval of this job" if age < 0 else f"more than {AGE_MAX} intervals old"
        problems = (f'"{path}" is skipped: its results by {header.collector} are {why}',)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        problems = (f'"{path}" is skipped: {str(error).partition(chr(10))[0]}',)
    found = collect(state, kept)
    statistics = found._replace(problems=problems + found.problems)
    return Collected(statistics, BUILT_IN, newest, 0)


def _read(path: Path) -> tuple[_Header, Statistics]:
    """Return the header of results, and the results.

    Raises:
        OSError: if they cannot be read.
        ValueError: if they are damaged, or of another version.
    """
    with path.open("rb") as file:
        content = file.read(FILE_BYTES_MAX)
    header = decode_header(content, _Header)
    check_version(header.results, RESULTS)
    return header, decode_tables(content, header.crc, Statistics)
