"""Addresses of nodes: `tcp://HOST:PORT` on the loopback, `tcp://HOST:PORT/FINGERPRINT` with CURVE keys.

The fingerprint is that of the public key of the node that listens there.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass

ANY_PORT: Final = "tcp://127.0.0.1:*"
PORT_MAX: Final = 65_535
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where a node listens; `fingerprint` is empty without CURVE."""

    host: str
    port: str
    fingerprint: str = ""

    @property
    def endpoint(self) -> str:
        """The address without the fingerprint."""
        return f"tcp://{self.host}:{self.port}"

    def __str__(self) -> str:
        """Return the address as nodes name it."""
        return f"{self.endpoint}/{self.fingerprint}" if self.fingerprint else self.endpoint


def parse_address(address: str, *, curve: bool = False) -> NodeAddress:
    """Return the parts of an address to listen on; names are refused, since their meaning may change.

    Raises:
        FsqlError: E601, if it is not an address, or without `curve` not on the loopback.
    """
    protocol, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    port, _, fingerprint = port.partition("/")
    if protocol != "tcp" or not host or not _is_port(port) or fingerprint:
        raise _address_error(f'address "{address}" is not of the form tcp://127.0.0.1:PORT')
    if not curve:
        _check_loopback(address, host)
    elif not _is_one_machine(host):
        raise FsqlError(
            [
                Diagnostic(
                    "E601",
                    f'address "{address}" is not the IPv4 address of one machine',
                    helps=("name the address by which other machines reach this one",),
                )
            ]
        )
    return NodeAddress(host, port)


def parse_node_address(address: str, *, curve: bool) -> NodeAddress:
    """Return the parts of the address of another node.

    Raises:
        FsqlError: E601, as for `parse_address`; or if there is no fingerprint where CURVE is used.
    """
    start, slash, fingerprint = address.rpartition("/")
    if not _FINGERPRINT.fullmatch(fingerprint):
        parsed = parse_address(address, curve=curve)
        if curve:
            raise FsqlError(
                [
                    Diagnostic(
                        "E601",
                        f'address "{address}" has no fingerprint',
                        helps=("use the address that the run prints: tcp://HOST:PORT/FINGERPRINT",),
                    )
                ]
            )
        return parsed
    if not curve and slash:
        raise FsqlError(
            [
                Diagnostic(
                    "E601",
                    f'address "{address}" is that of a node with CURVE keys',
                    helps=("name the key directory of this machine: --keys DIR",),
                )
            ]
        )
    parsed = parse_address(start, curve=True)
    return NodeAddress(parsed.host, parsed.port, fingerprint)


def is_on_loopback(host: str) -> bool:
    """Return whether a host is an address of the loopback."""
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False


def _check_loopback(address: str, host: str) -> None:
    if is_on_loopback(host):
        return
    message = f'address "{address}" is not on the loopback of this machine'
    notes = ("connections between machines need CURVE keys, and none are given",)
    helps = (
        "make keys with fsql keys init DIR, and give --keys DIR",
        'or use an address such as "tcp://127.0.0.1:5555"',
    )
    raise FsqlError([Diagnostic("E601", message, notes=notes, helps=helps)])


def _address_error(message: str) -> FsqlError:
    helps = ('use an address such as "tcp://127.0.0.1:5555"',)
    return FsqlError([Diagnostic("E601", message, helps=helps)])


def _is_one_machine(host: str) -> bool:
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_multicast or host == "255.255.255.255")


def _is_port(text: str) -> bool:
    digits = text.isascii() and text.isdecimal()
    return text == "*" or (digits and 0 < int(text) <= PORT_MAX)
