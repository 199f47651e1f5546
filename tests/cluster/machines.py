"""Several machines: network namespaces on one bridge, where this machine allows that.

Without the right to make namespaces, all are this machine, by the address of one of its interfaces: then
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

_NETWORK: Final = "10.213.7"


@dataclass(frozen=True)
class Machine:
    """A machine: what commands on it begin with, and its address."""

    prefix: tuple[str, ...]
    address: str


@contextmanager
def connected_machines(count: int) -> Iterator[tuple[Machine, ...]]:
    """Make machines that reach each other."""
    with ExitStack() as stack:
        ip = shutil.which("ip")
        machines: tuple[Machine, ...] | None = None
        names = tuple(f"fsql-{os.getpid()}-{number}" for number in range(count))
        if os.geteuid() == 0 and ip is not None:
            stack.callback(_remove, ip, names)
            with suppress(subprocess.CalledProcessError):
                machines = _namespaces(ip, names)
        yield machines or (Machine((), _own_address()),) * count


def _namespaces(ip: str, names: tuple[str, ...]) -> tuple[Machine, ...]:
    """Make a namespace for each machine; the bridge between them is in the first one."""
    bridge, hub = f"fs{os.getpid()}", names[0]
    machines = []
    for number, name in enumerate(names):
        _run(ip, "netns", "add", name)
        _run(ip, "-n", name, "link", "set", "lo", "up")
        device, address = bridge, f"{_NETWORK}.{number + 1}"
        if name == hub:
            _run(ip, "-n", hub, "link", "add", bridge, "type", "bridge")
        else:
            port, device = f"{bridge}p{number}", f"{bridge}d{number}"
            peer = ("peer", "name", device, "netns", name)
            _run(ip, "link", "add", port, "netns", hub, "type", "veth", *peer)
            _run(ip, "-n", hub, "link", "set", port, "master", bridge, "up")
        _run(ip, "-n", name, "address", "add", f"{address}/24", "dev", device)
        _run(ip, "-n", name, "link", "set", device, "up")
        machines.append(Machine((ip, "netns", "exec", name), address))
    return tuple(machines)


def _remove(ip: str, names: tuple[str, ...]) -> None:
    """Remove the namespaces, and the devices with them."""
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
