"""The tripwire: use of real time, entropy, sockets or threads in a simulation fails immediately.

They would make two runs of one seed differ.  The lint rules keep them out of nodes and hosts; this module
detects calls by libraries.  A simulation is one thread: other threads of the process are no part of it.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

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
"""The functions that a simulation may not call."""


class EscapedSimulationError(BaseException):
    """A simulation has called one of `ESCAPES`."""


@contextmanager
def forbid_escapes() -> Iterator[None]:
    """Make every call of one of `ESCAPES` by this thread fail until the end of the block."""
    kept = [(module, name, getattr(module, name)) for module, name in ESCAPES]
    for module, name, function in kept:
        label = f"{getattr(module, '__name__', module)}.{name}"
        setattr(module, name, _forbid(function, label, threading.get_ident()))
    try:
        yield
    finally:
        for module, name, function in kept:
            setattr(module, name, function)


def _forbid(function: Callable[..., Any], name: str, thread: int) -> Callable[..., Any]:
    """Return a function that fails in one thread, and calls `function` in others."""

    def call_elsewhere(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - those of any function
        if threading.get_ident() != thread:
            return function(*arguments, **named)
        raise EscapedSimulationError(f"{name} was called in a simulation")

    return call_elsewhere
