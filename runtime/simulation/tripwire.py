"""The tripwire: use of real time, entropy, sockets or threads in a simulation fails at once.

Real time, entropy, sockets and threads would make two runs of one seed differ.  The lint rules keep them out
of the machines; this catches what comes in by a library.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CLOCKS: Final = tuple(
    f"{name}{suffix}"
    for name in ("time", "monotonic", "perf_counter", "process_time")
    for suffix in ("", "_ns")
)
_DRAWS: Final = (
    *("random", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform"),
    *("getrandbits", "seed", "gauss", "expovariate"),
)
ESCAPES: Final[tuple[tuple[object, str], ...]] = (
    *((time, name) for name in (*_CLOCKS, "sleep")),
    *((random, name) for name in _DRAWS),
    (os, "urandom"),
    (uuid, "uuid1"),
    (uuid, "uuid4"),
    (socket, "socket"),
    (threading.Thread, "start"),
)
"""What a simulation may not call."""


class EscapedSimulationError(BaseException):
    """Something in a simulation asked for the real world."""


@contextmanager
def no_escape() -> Iterator[None]:
    """Make every call of one of `ESCAPES` fail meanwhile."""
    kept = [(place, name, getattr(place, name)) for place, name in ESCAPES]
    for place, name in ESCAPES:
        setattr(place, name, _wire(f"{getattr(place, '__name__', place)}.{name}"))
    try:
        yield
    finally:
        for place, name, function in kept:
            setattr(place, name, function)


def _wire(name: str) -> Callable[..., NoReturn]:
    def escape(*_: object, **__: object) -> NoReturn:
        raise EscapedSimulationError(f"{name} was called in a simulation")

    return escape
