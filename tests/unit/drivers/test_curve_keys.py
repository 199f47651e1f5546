"""Key directories: what they have, who may read them, and what is refused."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.drivers.curve.keys import (
    NodeKeys,
    authorize_key,
    create_keys,
    fingerprint_of,
    rotate_keys,
)
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "ab" * 32


def refusal(directory: Path, fingerprint: str | None = None) -> str:
    """Return the message about a directory that is refused."""
    with pytest.raises(FsqlError) as raised:
        NodeKeys(directory, fingerprint)
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "E646"
    return diagnostic.message


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    create_keys(tmp_path / "keys")
    return tmp_path / "keys"


def test_keys_are_for_their_owner_only(keys: Path) -> None:
    rotate_keys(keys)
    authorize_key(keys, "other", OTHER)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (keys, *keys.iterdir())}
    assert modes == {
        "keys": 0o700,
        "node.key": 0o600,
        "previous.key": 0o600,
        "authorized": 0o600,
    }


@pytest.mark.parametrize(
    ("name", "mode"), [("node.key", 0o640), ("authorized", 0o606), ("previous.key", 0o644)]
)
def test_files_that_others_may_use_are_refused(keys: Path, name: str, mode: int) -> None:
    rotate_keys(keys)
    (keys / name).chmod(mode)
    reason = f"its mode is {mode:o}, which lets other users access it"
    assert refusal(keys) == f'the CURVE keys "{keys / name}" cannot be used: {reason}'


def test_a_directory_that_others_may_use_is_refused(keys: Path) -> None:
    keys.chmod(0o750)
    reason = "its mode is 750, which lets other users access it"
    assert refusal(keys) == f'the CURVE keys "{keys}" cannot be used: {reason}'


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("node.key", "00", "it does not have 64 hexadecimal digits"),
        ("node.key", "", "it does not have 64 hexadecimal digits"),
        ("authorized", "other\n", '"other" is not of the form NAME PUBLIC-KEY'),
        ("authorized", f"../x {OTHER}\n", f'"../x {OTHER}" is not of the form NAME PUBLIC-KEY'),
        ("authorized", "other 12\n", '"other 12" is not of the form NAME PUBLIC-KEY'),
    ],
)
def test_damaged_files_are_refused(keys: Path, name: str, text: str, reason: str) -> None:
    (keys / name).write_text(text)
    assert refusal(keys) == f'the CURVE keys "{keys / name}" cannot be used: {reason}'


@pytest.mark.parametrize("name", ["node.key", "authorized"])
def test_missing_files_are_refused(keys: Path, name: str) -> None:
    (keys / name).unlink()
    assert refusal(keys).startswith(f'the CURVE keys "{keys / name}" cannot be used: ')


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert refusal(path) == f'the CURVE keys "{path}" cannot be used: there is no such directory'


def test_an_old_zeromq_is_refused(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zmq.zmq_version_info", lambda: (4, 3, 2))
    assert "is older than 4.3.5" in refusal(keys)


def test_a_zeromq_without_curve_is_refused(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zmq.has", lambda _: False)
    assert "has no CURVE" in refusal(keys)


def test_a_second_init_keeps_the_key(keys: Path) -> None:
    before = (keys / "node.key").read_bytes()
    said = fsql("keys", "init", keys)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f'error[FSQL-E646]: the CURVE keys "{keys / "node.key"}" cannot be used: '
        f"it exists already\n  = help: fsql keys rotate {keys}\n"
    )
    assert (keys / "node.key").read_bytes() == before


def test_the_previous_key_is_accepted_until_the_next_rotation(keys: Path) -> None:
    first = NodeKeys(keys).own
    second = rotate_keys(keys)
    now = NodeKeys(keys)
    assert (now.own, now.previous()) == (second, first)
    assert now.public_of(first.fingerprint) == first.public
    assert NodeKeys(keys, first.fingerprint).own == first
    third = rotate_keys(keys)
    assert NodeKeys(keys).own == third
    assert NodeKeys(keys).public_of(first.fingerprint) is None
    assert refusal(keys, first.fingerprint).endswith(
        f"the key with fingerprint {first.fingerprint} was rotated away"
    )


def test_the_list_is_read_again_when_it_changes(keys: Path) -> None:
    node, fingerprint = NodeKeys(keys), fingerprint_of(bytes.fromhex(OTHER))
    assert node.public_of(fingerprint) is None
    authorize_key(keys, "other", OTHER)
    assert node.public_of(fingerprint) == bytes.fromhex(OTHER)
    (keys / "authorized").write_text("")
    assert node.public_of(fingerprint) is None


def test_what_is_shown_has_no_secret(keys: Path) -> None:
    first = NodeKeys(keys).own
    rotated = fsql("keys", "rotate", keys)
    second = NodeKeys(keys).own
    authorized = fsql("keys", "authorize", keys, "other", OTHER)
    shown = fsql("keys", "show", keys)
    other = fingerprint_of(bytes.fromhex(OTHER))
    assert rotated.out == f"{second.public.hex()}\n"
    assert authorized.err == f"other with key {other} may connect\n"
    assert [line.split()[-2:] for line in shown.out.splitlines()[1:]] == [
        [second.fingerprint, second.public.hex()],
        [first.fingerprint, first.public.hex()],
        [other, OTHER],
    ]
    said = fsql("keys", "show", keys, "--json")
    assert json.loads(said.out) == {
        "public_key": second.public.hex(),
        "fingerprint": second.fingerprint,
        "previous": {"public_key": first.public.hex(), "fingerprint": first.fingerprint},
        "authorized": [{"name": "other", "public_key": OTHER, "fingerprint": other}],
    }
    everything = f"{rotated}{authorized}{shown}{said}{first}{NodeKeys(keys)}"
    for pair in (first, second):
        assert pair.secret.hex() not in everything
        assert str(pair.secret) not in everything


@pytest.mark.parametrize(("name", "public"), [("a b", OTHER), ("a", "12"), ("a\nb", OTHER)])
def test_what_is_no_name_or_key_is_not_authorized(keys: Path, name: str, public: str) -> None:
    before = (keys / "authorized").read_text()
    said = fsql("keys", "authorize", keys, name, public)
    assert said.code == 1
    assert "FSQL-E646" in said.err
    assert (keys / "authorized").read_text() == before
