"""The commands of docs/operations.md about ticks, each of them run in its order."""

from __future__ import annotations

import re
import shlex
import signal
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import wait_until
from fsql.tests.docs.pages import page_text, read_blocks, section

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def test_the_commands_do_what_is_said(
    new_twin: Callable[[int], Twin], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = section(page_text("docs/operations.md"), "## Ticks")
    run, *commands = re.findall(r"^    fsql (.*)$", text, re.MULTILINE)
    assert run == "run query.sql --workers 2 --state state"
    twin = new_twin(ENDLESS)
    monkeypatch.chdir(twin.directory)
    for block in read_blocks(text):
        if block.name:
            (twin.directory / block.name).write_text(block.text)
    twin.start(
        2, "--no-contract"
    )  # a tick that the load causes would come between those of the page
    wait_until(twin.advances, "output")
    said = {command: fsql(*shlex.split(command)) for command in commands}
    assert {command: each.err for command, each in said.items() if each.code} == {}
    shown = said["tick show 2 --state state"].out.splitlines()
    assert shown[:2] == ["tick 2: taken", "reason: worker 0 is busy"]
    assert shown[-2:] == ["0 0 1000", "1 1000 4096"]
    twin.end(signal.SIGINT)
