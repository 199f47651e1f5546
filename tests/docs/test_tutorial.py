"""The tutorial: what is typed there gives the files that are shown, across the kill."""

from __future__ import annotations

import socket
import time
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import process
from fsql.tests.docs.pages import ROOT, page_text, read_blocks, rewritten
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from fsql.tests.docs.pages import Block

pytestmark = pytest.mark.slow

PAGE = "docs/tutorial.md"
BLOCKS = read_blocks(page_text(PAGE))
PORT = "7000"


class Reader:
    """Follows the page: starts and kills the run, types lines, and looks at the files."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._run: subprocess.Popen[bytes] | None = None
        self._seen: dict[str, int] = defaultdict(int)
        self.files: dict[str, str] = {}

    def follow(self, block: Block) -> None:
        if block.kind == "sql":
            text = block.text.replace(PORT, str(self._port))
            (self._folder / block.name).write_text(text)
        elif block.text.startswith("fsql run"):
            words = block.text.split()[1:]
            words[words.index("state")] = str(self._folder / "state")
            words[words.index("clicks.sql")] = str(self._folder / "clicks.sql")
            self._run = process(*words, "--json")
            assert self._run.stderr is not None
            while b'"listening"' not in self._run.stderr.readline():
                pass
        elif block.text.startswith("kill -9"):
            self.kill()
        elif block.kind == "text":
            with socket.create_connection(("127.0.0.1", self._port)) as connection:
                connection.sendall(block.text.encode())

    def kill(self) -> None:
        if self._run is not None:
            self._run.kill()
            self._run.communicate()
            self._run = None

    def wait_for(self, name: str, lines: int) -> str:
        """Return what is new in a file, as soon as it has so many lines more."""
        path = self._folder / name
        while True:
            assert self._run is not None
            assert self._run.poll() is None
            text = path.read_text()[self._seen[name] :] if path.exists() else ""
            if text.count("\n") >= lines:
                self._seen[name] += len(text)
                return text
            time.sleep(0.01)


def test_the_tutorial_shows_what_comes_out(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    results: list[tuple[Block, str]] = []
    with KeptPort() as port:
        reader = Reader(tmp_path, port.number)
        try:
            for block in BLOCKS:
                if block.kind == "output":
                    text = reader.wait_for(block.name, block.text.count("\n"))
                    results.append((block, text))
                else:
                    reader.follow(block)
        finally:
            reader.kill()
    if request.config.getoption("--rewrite"):
        (ROOT / PAGE).write_text(rewritten(page_text(PAGE), results))
        return
    assert [text for _, text in results] == [block.text for block, _ in results]
