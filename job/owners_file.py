"""Files with owner maps, for `fsql tick propose --bins`.

    # the owners of all exchanges that the file does not name below
    0 0 2048
    1 2048 4096
    exchange aggregate-9eb4783324bd
    1 0 4096

A line `WORKER FIRST END` gives a worker the bins from FIRST on, below END.  The lines of a map cover all bins
in order.  A line `exchange NAME` begins the map of one exchange, which has the operator id of its fold as
name.  Without lines before the first of these, exchanges that are not named keep their owners.  Empty lines,
and what follows a `#`, are ignored.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.records import dataclass
from fsql.job.small_file import read_small_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

OWNERS_BYTES_MAX: Final = 1 << 23
"""The maximum size of a file; one line for each bin takes less than a tenth of a MiB in each map."""
EXCHANGE: Final = "exchange"
_RANGE_NUMBERS: Final = 3
_EXCHANGE_WORDS: Final = 2
_DIGITS_MAX: Final = 7


@dataclass
class OwnersFile:
    """The content of a file: the map of all exchanges but those that are named, None if there is none."""

    every: OwnerMap | None = None
    exchanges: dict[str, OwnerMap] = field(default_factory=dict)


def read_owners(
    path: Path, workers: int, exchanges: Callable[[], Collection[str]] = tuple
) -> OwnersFile:
    """Return the owner maps in a file.

    `exchanges` returns the names of the exchanges of the job, and is called if the file names one.

    Raises:
        FsqlError: E651, if it cannot be read or is malformed, or names a worker or an exchange that the job
            does not have.
    """
    data = read_small_file(path, OWNERS_BYTES_MAX, _invalid)
    maps: dict[str, list[int]] = {"": []}
    name = ""
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        fields = line.partition("#")[0].split()
        where = f'"{path}", line {number}'
        if fields[:1] == [EXCHANGE]:
            if name or maps[name]:
                _check_complete(maps, name, path)
            name = _read_name(fields, where, maps)
            maps[name] = []
        elif fields:
            owners = maps[name]
            owner, end = _read_range(fields, where, len(owners))
            check_worker(owner, workers, f"{where}: ")
            owners += [owner] * (end - len(owners))
    _check_complete(maps, name, path)
    every = maps.pop("")
    if maps:
        _check_names(maps, exchanges(), path)
    return OwnersFile(
        OwnerMap(tuple(every), workers) if every else None,
        {name: OwnerMap(tuple(owners), workers) for name, owners in maps.items()},
    )


def _check_complete(maps: dict[str, list[int]], name: str, path: Path) -> None:
    """Check that the map that ends here has all bins."""
    owners = maps[name]
    if len(owners) < BINS:
        of = f" of exchange {name}" if name else ""
        raise _invalid(
            f'"{path}": the bins{of} from {len(owners):,} on, below {BINS:,}, have no worker'
        )


def _read_name(fields: list[str], where: str, maps: Collection[str]) -> str:
    if len(fields) != _EXCHANGE_WORDS:
        raise _invalid(f'{where}: "{EXCHANGE}" must be followed by one name')
    if fields[1] in maps:
        raise _invalid(f"{where}: exchange {fields[1]} is named twice")
    return fields[1]


def _check_names(named: Collection[str], known: Collection[str], path: Path) -> None:
    for name in named:
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise _invalid(f'"{path}": the job has no exchange {name}; it has: {names}')


def _read_range(fields: list[str], where: str, first_expected: int) -> tuple[int, int]:
    """Return the owner and the end of the range in a line."""
    is_range = len(fields) == _RANGE_NUMBERS
    if not is_range or not all(each.isascii() and each.isdecimal() for each in fields):
        raise _invalid(f"{where}: a line must have three numbers, WORKER FIRST END")
    if any(len(each) > _DIGITS_MAX for each in fields):
        raise _invalid(f"{where}: a number is too large")
    owner, first, end = (int(each) for each in fields)
    if first != first_expected:
        raise _invalid(
            f"{where}: the range begins at bin {first:,}, and must begin at {first_expected:,}"
        )
    if not first < end <= BINS:
        raise _invalid(f"{where}: the range must end above {first:,}, at {BINS:,} at most")
    return owner, end


def check_worker(worker: int, workers: int, where: str = "") -> None:
    """Check that a job has a worker of that number.

    Raises:
        FsqlError: E651, if it does not.
    """
    if not 0 <= worker < workers:
        numbers = "only worker 0" if workers == 1 else f"workers 0 to {workers - 1}"
        message = f"{where}there is no worker {worker}: the job has {numbers}"
        helps = ("name one of these, or change their number: fsql tick propose --workers N",)
        raise FsqlError([Diagnostic("E651", message, helps=helps)])


def _invalid(reason: str) -> FsqlError:
    return FsqlError([Diagnostic("E651", reason, helps=(CODES["E651"].fix,))])
