"""How the processes of a job find and authenticate each other: coordination, keys and addresses."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.coordination.zookeeper.address import find_credentials, parse_address
from fsql.runtime.drivers.curve.keys import NodeKeys
from fsql.runtime.drivers.node_address import parse_address as parse_listen_address


class Connections(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The connections of a job, or the default connections of the jobs of a cluster.

    `coordination` is an address of ZooKeeper, and `credentials` the file with the credentials for it.
    `keys` is the directory of CURVE keys, `listen` the address of the coordinator.  `joining` is the number
    of workers that are started separately, with `fsql worker`.
    """

    coordination: str | None = None
    credentials: str | None = None
    keys: str | None = None
    listen: str | None = None
    joining: int | None = None

    def or_else(self, others: Connections) -> Connections:
        """Return these connections; values that are not given are taken from `others`."""
        return Connections(
            self.coordination or others.coordination,
            self.credentials or others.credentials,
            self.keys or others.keys,
            self.listen or others.listen,
            others.joining if self.joining is None else self.joining,
        )

    def check(self) -> None:
        """Check that the addresses, the credentials and the keys can be used on this machine.

        Raises:
            FsqlError: E601, E641, E643 or E646, if they cannot.
        """
        if self.coordination is not None:
            credentials = None if self.credentials is None else Path(self.credentials)
            find_credentials(parse_address(self.coordination), credentials)
        if self.keys is not None:
            NodeKeys(Path(self.keys))
        if self.listen is not None:
            parse_listen_address(self.listen, curve=self.keys is not None)


def check_same_coordination(before: Connections, after: Connections) -> None:
    """Check that the coordination of a job does not change; the servers of an ensemble may change.

    Raises:
        FsqlError: E638, if it changes.
    """
    if _path_of(before) != _path_of(after):
        where = before.coordination or "a file in its state directory"
        message = f"the coordination of a job cannot be changed: that of this job is {where}"
        helps = ("remove --coordination, or deploy the script under another name",)
        raise FsqlError([Diagnostic("E638", message, helps=helps)])


def _path_of(connections: Connections) -> str | None:
    address = connections.coordination
    return None if address is None else parse_address(address).path
