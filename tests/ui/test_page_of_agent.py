"""The page that `fsql up` starts: on loopback, with a token, and only as long as its agent runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from fsql.deployment.views import processes
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS
from fsql.tests.deployment.cluster import TestCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.deployment.processes import ProcessView


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TestCluster]:
    found = TestCluster(tmp_path / "cluster")
    yield found
    found.close()


def page_of_up(cluster: TestCluster, *flags: str, variable: str | None = None) -> str | None:
    """Call `fsql up`, and return the address of the page that it tells."""
    environment = {name: value for name, value in os.environ.items() if name != "FSQL_UI"}
    if variable is not None:
        environment["FSQL_UI"] = variable
    command = [sys.executable, "-m", "fsql", "up", "--json", "--dir", str(cluster.path), *flags]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=HANGS_AFTER_SECONDS,
    )
    told = [json.loads(line) for line in done.stderr.splitlines()]
    [fields] = [each for each in told if each["event"] == "up"]
    page: str | None = fields.get("page")
    return page


def status(url: str) -> int:
    try:
        with build_opener(HTTPCookieProcessor()).open(url, timeout=HANGS_AFTER_SECONDS) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def is_over(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_agent_serves_the_page_as_long_as_it_runs(cluster: TestCluster) -> None:
    url = page_of_up(cluster)
    assert url is not None
    assert url.startswith("http://127.0.0.1:")
    assert status(url) == 200
    assert status(url.partition("/open?")[0]) == 401
    assert page_of_up(cluster) == url
    address = cluster.directory.page_address()
    assert address is not None
    assert address.url == url
    assert (cluster.path / "page.json").stat().st_mode & 0o077 == 0
    assert [each.role for each in _processes(cluster) if each.pid == address.pid] == ["page"]
    assert page_of_up(cluster, "--no-ui") is None
    cluster.wait_until(lambda: is_over(address.pid))
    assert page_of_up(cluster) is None
    again = page_of_up(cluster, "--ui")
    assert again is not None
    assert again.partition("token=")[2] != url.partition("token=")[2]
    last = cluster.directory.page_address()
    assert last is not None
    cluster.kill_agent()
    cluster.wait_until(lambda: is_over(last.pid))


def test_a_variable_turns_it_off(cluster: TestCluster) -> None:
    assert page_of_up(cluster, variable="0") is None
    assert [each.role for each in _processes(cluster)] == ["agent", "fork-server"]


def _processes(cluster: TestCluster) -> list[ProcessView]:
    return processes(cluster.directory)
