"""`fsql keys`: its commands and their flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter

_directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))


@click.group(short_help="Create and show the CURVE keys of this machine.")
def keys() -> None:
    """Create and show the CURVE keys of this machine, and the list of machines that may connect.

    Nodes on several machines need them: fsql run --keys DIR, fsql worker --keys DIR.  DIR has the mode 700,
    its files 600.  Secret keys are never printed.
    """


@keys.command("init", short_help="Create a key directory.")
@_directory
@pass_reporter
def keys_init(reporter: Reporter, directory: Path) -> None:
    """Create DIR with a new key and an empty list of machines that may connect; print the public key.

    With --json, standard output is an object with public_key and fingerprint.
    """
    from fsql.runtime.drivers.curve.keys import create_keys

    _print_public(create_keys(directory).public, reporter)


@keys.command("rotate", short_help="Replace the key of this machine.")
@_directory
@pass_reporter
def keys_rotate(reporter: Reporter, directory: Path) -> None:
    """Replace the key in DIR by a new one; print the new public key.

    Runs that have started continue with the previous key, which this machine accepts until the next rotation.
    Runs and workers that start later use the new key.  Authorize it on the other machines first.

    With --json, standard output is an object with public_key and fingerprint.
    """
    from fsql.runtime.drivers.curve.keys import rotate_keys

    _print_public(rotate_keys(directory).public, reporter)


@keys.command("authorize", short_help="Allow another machine to connect.")
@_directory
@click.argument("name")
@click.argument("public_key", metavar="PUBLIC-KEY")
@pass_reporter
def keys_authorize(reporter: Reporter, directory: Path, name: str, public_key: str) -> None:
    """Add the PUBLIC-KEY of another machine to the list of those that may connect, DIR/authorized.

    NAME is a comment.  Running processes read the list again when it has changed.  To revoke the right,
    remove the line, and restart what is connected.
    """
    from fsql.runtime.drivers.curve.keys import authorize_key

    fingerprint = authorize_key(directory, name, public_key)
    fields = {"name": name, "fingerprint": fingerprint}
    reporter.inform("authorized", fields, f"{name} with key {fingerprint} may connect\n")


@keys.command("show", short_help="Show the public keys and the list of machines.")
@_directory
@pass_reporter
def keys_show(reporter: Reporter, directory: Path) -> None:
    """Show the public keys of this machine and of those that may connect, with their fingerprints.

    With --json, standard output is an object with public_key, fingerprint, previous and authorized: a list of
    objects with name, public_key and fingerprint.
    """
    from fsql.console.text_table import text_table
    from fsql.runtime.drivers.curve.keys import (
        AUTHORIZED,
        NodeKeys,
        fingerprint_of,
        read_authorized,
    )

    node = NodeKeys(directory)
    previous = node.previous()
    listed = read_authorized(directory / AUTHORIZED)
    if reporter.json:
        shown = {
            **_public_fields(node.own.public),
            "previous": None if previous is None else _public_fields(previous.public),
            "authorized": [{"name": name, **_public_fields(key)} for name, key in listed.items()],
        }
        click.echo(json.dumps(shown))
        return
    rows = [("this machine", node.own.public)]
    if previous is not None:
        rows.append(("this machine, previous", previous.public))
    rows += [(f"authorized: {name}", public) for name, public in listed.items()]
    table = [(name, fingerprint_of(public), public.hex()) for name, public in rows]
    click.echo(text_table(("key of", "fingerprint", "public key"), table), nl=False)


def _public_fields(public: bytes) -> dict[str, str]:
    from fsql.runtime.drivers.curve.keys import fingerprint_of

    return {"public_key": public.hex(), "fingerprint": fingerprint_of(public)}


def _print_public(public: bytes, reporter: Reporter) -> None:
    click.echo(json.dumps(_public_fields(public)) if reporter.json else public.hex())
