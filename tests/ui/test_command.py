"""`fsql ui`: its command, and that its numbers are those of `fsql top`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql, process

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.ui.served_page import ServedPage


def test_the_page_and_top_agree(page: ServedPage, stopped_job: Path) -> None:
    code, out, _ = fsql("top", "--once", "--json", "--dir", stopped_job)
    assert code == 0
    of_top = json.loads(out)["jobs"]
    of_page = page.first_message("/api/stream")["jobs"]
    assert [job.pop("latency") for job in of_page] == [None]
    assert of_page == of_top
    assert of_page[0]["counters"]["rows_in"] == 1000


def test_it_prints_its_address_and_ends_with_a_signal(tmp_path: Path) -> None:
    with process("ui", "--json", "--dir", str(tmp_path / "c")) as running:
        assert running.stdout is not None
        said = json.loads(running.stdout.readline())
        assert said["url"].startswith(f"http://127.0.0.1:{said['port']}/open?token=")
        running.send_signal(signal.SIGTERM)
        assert running.wait() in {-signal.SIGTERM, 128 + signal.SIGTERM, 0}


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, out, err = fsql("ui", "--port", str(port), "--dir", tmp_path)
    assert (code, out) == (1, "")
    assert err == (
        f"error[FSQL-E671]: port {port} of the loopback interface cannot be used: Address already in use\n"
        "  = help: leave out --port: a free one is taken\n"
    )


def test_without_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from fsql.cli import main; main(['ui', '--dir', sys.argv[1]])"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error[FSQL-E671]: fsql ui needs the package uvicorn, which is not installed\n"
        "  = help: install fsql with the extra ui: pip install 'fsql[ui]'\n"
    )
