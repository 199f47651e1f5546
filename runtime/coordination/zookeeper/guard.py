"""Checks that only clients with the credentials can change the stored data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kazoo.security import Permissions

from fsql.runtime.coordination.port import CoordinationRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.coordination.zookeeper.address import ZooKeeperAddress
    from fsql.runtime.coordination.zookeeper.connection import Connection

_CHANGES: Final = Permissions.CREATE | Permissions.WRITE | Permissions.DELETE | Permissions.ADMIN


def check_guard(connection: Connection, address: ZooKeeperAddress, children: Sequence[str]) -> None:
    """Check the access control lists of the path of an address, of the nodes above it, and of its children.

    A node can be deleted by every client that may delete children of its *parent*.  So the nodes above the
    path are checked too, except "/": it is open on most servers, and a node with children cannot be deleted.

    Raises:
        CoordinationRefusedError: if everybody may change one of them, or read the stored data.
    """
    names = address.path.removeprefix("/").split("/")
    for depth in range(1, len(names)):
        path = "/" + "/".join(names[:depth])
        _check_node(address, path, _world_permissions(connection, path) & _CHANGES)
    for path in (address.path, *children):
        _check_node(address, path, _world_permissions(connection, path))


def _check_node(address: ZooKeeperAddress, path: str, permissions: int) -> None:
    if permissions:
        raise CoordinationRefusedError(
            f'the node "{path}" of {address} is open to everybody, so it is not used',
            "name a path that does not exist yet: it is made for the credentials only; or remove the access"
            f" of others: setAcl {path} auth::cdrwa",
        )


def _world_permissions(connection: Connection, path: str) -> int:
    """Return the permissions that everybody has."""
    access, _ = connection.call("get_acls", path)
    permissions = 0
    for each in access:
        if (each.id.scheme, each.id.id) == ("world", "anyone"):
            permissions |= each.perms
    return permissions
