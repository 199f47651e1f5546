"""The flags of `fsql up` and `fsql deploy` for the connections and authentication of job processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fsql.deployment.connections import Connections

if TYPE_CHECKING:
    from collections.abc import Mapping


def connections_of(flags: Mapping[str, Any]) -> Connections:
    """Return the connections that flags request; paths of files are absolute.

    Raises:
        click.UsageError: if credentials are given without an address.
    """
    credentials, keys = flags.get("credentials"), flags["keys"]
    if credentials is not None and flags.get("coordination") is None:
        raise click.UsageError("--coordination-credentials requires --coordination")
    return Connections(
        flags.get("coordination"),
        None if credentials is None else str(credentials.absolute()),
        None if keys is None else str(keys.absolute()),
        flags.get("listen"),
        flags.get("joining"),
    )
