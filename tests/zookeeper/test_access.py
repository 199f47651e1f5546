"""Credentials: every path is guarded, and what is open or another's is refused."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NotEmptyError
from kazoo.security import OPEN_ACL_UNSAFE

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.coordination.port import CoordinationRefusedError, DamagedCoordinationError
from fsql.runtime.coordination.zookeeper.address import (
    CREDENTIALS_VARIABLE,
    Credentials,
    find_credentials,
    parse_address,
)
from fsql.runtime.coordination.zookeeper.driver import VALUE_BYTES_MAX
from fsql.runtime.coordination.zookeeper.guard import check_guard
from fsql.tests.zookeeper.worlds import ServerPath

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.runtime.drivers.zookeeper_server import ZooKeeperServer

OURS = Credentials("fsql", "ours")
LOCAL = parse_address("zookeeper://127.0.0.1:2181/fsql")
REMOTE = parse_address("zookeeper://zk1.example.com:2181,zk2.example.com:2181/fsql")


@pytest.fixture
def place(server: ZooKeeperServer) -> Iterator[ServerPath]:
    made = ServerPath(server.address, credentials=OURS)
    # "/fsql" of the other tests is open.
    made.address = parse_address(str(made.address).replace("/fsql/", "/guarded-"))
    yield made
    made.close()


def paths(client: KazooClient, path: str) -> list[str]:
    return [path] + [
        below for name in client.get_children(path) for below in paths(client, f"{path}/{name}")
    ]


@pytest.fixture
def anonymous(server: ZooKeeperServer) -> Iterator[KazooClient]:
    client = KazooClient(server.address)
    client.start()
    yield client
    client.stop()
    client.close()


def test_every_path_is_guarded(
    place: ServerPath, server: ZooKeeperServer, anonymous: KazooClient
) -> None:
    place.address = place.address.below("job")
    client = place.client()
    session = client.open_session(10.0)
    client.create(session, "leader", b"1", ephemeral=True)
    client.create(session, "epoch", b"1")
    owner = KazooClient(server.address, auth_data=[("digest", "fsql:ours")])
    owner.start()
    root = place.address.path.rpartition("/")[0]
    every = paths(owner, root)
    owner.stop()
    owner.close()
    job = f"{root}/job"
    assert len(every) == 7
    assert {f"{job}/entries/epoch", f"{job}/entries/leader", f"{job}/sessions"} < set(every)
    for path in every:
        for attempt in (
            partial(anonymous.get, path),
            partial(anonymous.get_children, path),
            partial(anonymous.set, path, b"2"),
            partial(anonymous.create, f"{path}/x", b""),
            partial(anonymous.set_acls, path, OPEN_ACL_UNSAFE),
        ):
            with pytest.raises(NoAuthError):
                attempt()
        if path != root:
            with pytest.raises(NoAuthError):
                anonymous.delete(path)
    # "/" is open, but a node that has children cannot be deleted.
    with pytest.raises(NotEmptyError):
        anonymous.delete(root)
    assert client.get("epoch") is not None


def test_other_credentials_are_refused(place: ServerPath) -> None:
    place.client().get("epoch")
    for credentials in (None, Credentials("fsql", "theirs")):
        place.credentials = credentials
        with pytest.raises(CoordinationRefusedError) as raised:
            place.client().get("epoch")
        assert str(raised.value) == f"{place.address} refuses access (NoAuthError)"
        given = credentials is not None
        assert (raised.value.help is not None) == given


def test_a_path_that_is_open_is_refused(place: ServerPath, anonymous: KazooClient) -> None:
    anonymous.create(place.address.path, b"")
    with pytest.raises(CoordinationRefusedError) as raised:
        place.client().get("epoch")
    assert str(raised.value) == (
        f'the node "{place.address.path}" of {place.address} is open to everybody, so it is not used'
    )
    assert raised.value.help == (
        "name a path that does not exist yet: it is made for the credentials only; or remove the access"
        f" of others: setAcl {place.address.path} auth::cdrwa"
    )


def test_a_path_below_one_that_is_open_is_refused(
    place: ServerPath, anonymous: KazooClient
) -> None:
    parent = place.address.path
    anonymous.create(parent, b"")
    place.address = place.address.below("job")
    with pytest.raises(CoordinationRefusedError) as raised:
        place.client().get("epoch")
    assert str(raised.value) == (
        f'the node "{parent}" of {place.address} is open to everybody, so it is not used'
    )


def test_who_comes_while_the_path_is_made_finds_all_of_it_or_nothing(
    place: ServerPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker, found = place.client(), list[object]()
    make = maker._make

    def make_and_read(path: str) -> None:
        make(path)
        try:
            found.append(place.client(create=False).get("epoch"))
        except DamagedCoordinationError as error:
            found.append(str(error))

    monkeypatch.setattr(maker, "_make", make_and_read)
    maker.get("epoch")
    missing = f"{place.address} does not exist, although a job began there"
    assert found == [missing, missing, None]


def test_a_path_that_is_removed_while_it_is_looked_at_is_missing(
    place: ServerPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = place.client()
    maker.get("epoch")

    def check_removed(*arguments: object) -> None:
        maker.remove()
        check_guard(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("fsql.runtime.coordination.zookeeper.driver.check_guard", check_removed)
    with pytest.raises(DamagedCoordinationError, match="does not exist"):
        place.client(create=False).get("epoch")


# --- Where credentials come from ---


def said(error: FsqlError) -> list[str]:
    return [f"{each.code}: {each.message}" for each in error.diagnostics]


def test_credentials_are_read_from_a_private_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text("fsql:a:b\n")
    file.chmod(0o600)
    monkeypatch.delenv(CREDENTIALS_VARIABLE, raising=False)
    assert find_credentials(LOCAL, None) is None
    assert find_credentials(REMOTE, file) == Credentials("fsql", "a:b")
    monkeypatch.setenv(CREDENTIALS_VARIABLE, "env:c")
    assert find_credentials(LOCAL, None) == Credentials("env", "c")
    assert find_credentials(LOCAL, file) == Credentials("fsql", "a:b")
    assert repr(Credentials("user", "password")) == "Credentials()"


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (b"a:b", 0o640, 'the mode of the file "{}" is 640, so that other users can read it'),
        (b"ab", 0o600, 'the file "{}" does not contain USER:PASSWORD on one line'),
        (b"a:b\nc:d", 0o600, 'the file "{}" does not contain USER:PASSWORD on one line'),
        (b":b", 0o600, 'the file "{}" does not contain USER:PASSWORD on one line'),
        (b"\xff:b", 0o600, 'the file "{}" is not UTF-8'),
        (None, 0, 'the file "{}" cannot be read: no such file or directory'),
    ],
)
def test_credentials_that_cannot_be_used_are_refused(
    content: bytes | None, mode: int, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(FsqlError) as raised:
        find_credentials(LOCAL, file)
    assert said(raised.value) == [
        "E643: the credentials for ZooKeeper cannot be used: " + reason.format(file)
    ]


def test_other_machines_are_not_used_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CREDENTIALS_VARIABLE, raising=False)
    with pytest.raises(FsqlError) as raised:
        find_credentials(REMOTE, None)
    message = (
        f"E643: {REMOTE} is not on the loopback, and no credentials are given:"
        " other users of the network could change the state of the job"
    )
    assert said(raised.value) == [message]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:1/a", "it is not of the form zookeeper://HOST:PORT/PATH"),
        ("zookeeper://127.0.0.1/a", '"127.0.0.1" is not of the form HOST:PORT'),
        ("zookeeper://a:1,/a", '"" is not of the form HOST:PORT'),
        ("zookeeper://a:0/a", '"a:0" is not of the form HOST:PORT'),
        ("zookeeper://a:1", "it has no path"),
        ("zookeeper://a:1/", "it has no path"),
        ("zookeeper://a:1/b//c", '"" cannot be a part of its path'),
        ("zookeeper://a:1/b/..", '".." cannot be a part of its path'),
        ("zookeeper://a:1/b c", '"b c" cannot be a part of its path'),
        ("zookeeper://a:1/zookeeper/x", 'the path "/zookeeper" is ZooKeeper\'s own'),
    ],
)
def test_what_is_no_address_is_refused(address: str, reason: str) -> None:
    with pytest.raises(FsqlError) as raised:
        parse_address(address)
    assert said(raised.value) == [f'E641: "{address}" is not an address of ZooKeeper: {reason}']


def test_credentials_in_an_address_are_refused_and_not_printed() -> None:
    with pytest.raises(FsqlError) as raised:
        parse_address("zookeeper://fsql:secret@127.0.0.1:2181/fsql")
    assert said(raised.value) == [
        "E641: the address of ZooKeeper is refused: it contains credentials"
    ]


def test_large_values_are_not_written(place: ServerPath) -> None:
    client = place.client()
    session = client.open_session(30.0)
    client.create(session, "a", b"x" * VALUE_BYTES_MAX)
    with pytest.raises(CoordinationRefusedError) as raised:
        client.create(session, "b", b"x" * (VALUE_BYTES_MAX + 1))
    assert str(raised.value) == 'the value of "b" has 524289 bytes, and 524288 are allowed'
    assert client.get("b") is None
