"""Two machines: network namespaces with a cable between them, where this machine allows that.

Without the right to make namespaces, both are this machine, by the address of one of its interfaces: then
connections leave the loopback, but not the machine.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESSES: Final = ("10.213.7.1", "10.213.7.2")


@dataclass(frozen=True)
class Machine:
    """A machine: what commands on it begin with, and its address."""

    prefix: tuple[str, ...]
    address: str


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Make two machines that reach each other."""
    with ExitStack() as stack:
        ip = shutil.which("ip")
        machines: tuple[Machine, Machine] | None = None
        names = tuple(f"fsql-{os.getpid()}-{number}" for number in range(2))
        if os.geteuid() == 0 and ip is not None:
            stack.callback(_remove, ip, names)
            with suppress(subprocess.CalledProcessError):
                machines = _namespaces(ip, names)
        yield machines or (Machine((), _own_address()),) * 2


def _namespaces(ip: str, names: tuple[str, ...]) -> tuple[Machine, Machine]:
    cables = tuple(f"fs{os.getpid()}{end}" for end in "ab")
    for name in names:
        _run(ip, "netns", "add", name)
        _run(ip, "-n", name, "link", "set", "lo", "up")
    peer = ("peer", "name", cables[1], "netns", names[1])
    _run(ip, "link", "add", cables[0], "netns", names[0], "type", "veth", *peer)
    for name, cable, address in zip(names, cables, ADDRESSES, strict=True):
        _run(ip, "-n", name, "address", "add", f"{address}/30", "dev", cable)
        _run(ip, "-n", name, "link", "set", cable, "up")
    first, second = (
        Machine((ip, "netns", "exec", name), address)
        for name, address in zip(names, ADDRESSES, strict=True)
    )
    return first, second


def _remove(ip: str, names: tuple[str, ...]) -> None:
    """Remove the namespaces, and the cable with them."""
    for name in names:
        subprocess.run([ip, "netns", "delete", name], capture_output=True, check=False)


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=True)


def _own_address() -> str:
    """Return an address of this machine that is not on the loopback; there has to be one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        address: str = probe.getsockname()[0]
    assert not address.startswith("127.")
    return address
