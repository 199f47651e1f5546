"""The key is made once, for its owner alone, and is refused if others could have it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.key_file import load_or_create_key

if TYPE_CHECKING:
    from pathlib import Path


def refusal(path: Path) -> str:
    with pytest.raises(FsqlError) as raised:
        load_or_create_key(path)
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "E602"
    prefix = f'the key "{path}" cannot be used: '
    assert diagnostic.message.startswith(prefix)
    return diagnostic.message.removeprefix(prefix)


def test_a_key_is_made_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "cluster.key"
    key = load_or_create_key(path)
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_or_create_key(path) == key
    assert load_or_create_key(tmp_path / "other.key") != key
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cluster.key", "other.key"]


def test_all_who_ask_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(50):
            paths = [tmp_path / f"{number}.key"] * 8
            assert len(set(pool.map(load_or_create_key, paths))) == 1


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cluster.key"
    load_or_create_key(path)
    path.chmod(0o640)
    assert refusal(path) == "its mode is 640, which lets other users access it"


def test_a_key_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cluster.key"
    path.write_bytes(load_or_create_key(path)[:31])
    assert refusal(path) == "it does not have 32 bytes"


def test_a_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cluster.key"
    load_or_create_key(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert refusal(path) == "it belongs to another user"


def test_a_key_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "missing" / "cluster.key") == "no such file or directory"
