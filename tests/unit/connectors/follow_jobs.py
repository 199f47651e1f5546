"""A job that follows files, driven step by step, for tests."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from fsql.connectors.file.following.follower import Follower, FollowOptions
from fsql.connectors.file.following.places import LoggedPlaces
from fsql.connectors.file.following.records import WholeRecords
from fsql.connectors.file.found_files import list_files
from fsql.connectors.live.front_log import LogWriter
from fsql.connectors.live.log_split import LogSplit
from fsql.connectors.live.time_bounds import BoundOptions
from fsql.formats.text.decoder import TextDecoder
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.formats.lines import LineDecoder
    from fsql.runtime.ports import SplitReader

LARGE = 1 << 40


def text() -> LineDecoder:
    return TextDecoder(1000)


class Job:
    """A front log and its follower, driven step by step; what is killed loses its descriptors only."""

    def __init__(
        self,
        path: Path,
        logs: Path,
        *,
        rereads: bool = False,
        decoder: Callable[[], LineDecoder] = text,
    ) -> None:
        self.path = path
        self.logs = logs
        self.rereads = rereads
        self.decoder = decoder
        self.notes: list[str] = []
        self._opened = ExitStack()
        self.start()

    def start(self) -> None:
        """Start, or start again after being killed."""
        self.close()
        pattern = "*" in self.path.name
        options = FollowOptions(
            lambda: list_files(self.path, pattern=pattern),
            self.path.parent,
            WholeRecords(self.decoder),
            0.0,
            self.rereads,
            self.notes.append,
        )
        self.follower = Follower(options, lambda: 0.0)
        known_end = self.follower.open_journal(self.logs)
        self.log = LogWriter(self.logs, LARGE, segment_bytes=200, known_end=known_end)
        self.follower.resume(self.log)
        for each in (self.log, self.follower):
            self._opened.callback(each.close)

    def close(self) -> None:
        """Close all files; nothing is written."""
        self._opened.close()

    def step(self, bytes_max: int = LARGE) -> bytes | None:
        """Carry what is there from the files to the log, as a feed does; return it."""
        data = self.follower.read(bytes_max, 0.0)
        if data:
            assert self.log.append(data) == len(data)
        return data

    def step_in_part(self, count: int) -> None:
        """Be killed in the middle of a step."""
        data = self.follower.read(LARGE, 0.0)
        if data:
            self.log.append(data[: count % len(data)])

    def drain(self) -> None:
        """Carry all that is there, and let the reader see it; files that are gone are noticed before."""
        idle = 0
        while idle < 3:
            idle = 0 if self.step() else idle + 1
        self.log.flush()

    def places(self) -> list[tuple[str, int, int, str]]:
        """Return file, line, byte and text of lines, none of which the decoder accepts."""
        places = LoggedPlaces(self.logs, self.path.parent)
        split = LogSplit("t", self.logs, self.decoder, BoundOptions(), places=places)
        read = []
        with closing(split.open()) as reader:
            while isinstance(chunk := reader.read(100), Chunk):
                assert not len(chunk.rows)
                read += [(x.file, x.line, x.byte, x.excerpt) for x in chunk.dead_letters]
        return read

    def lines(self) -> list[str]:
        with closing(LogSplit("t", self.logs, self.decoder, BoundOptions()).open()) as reader:
            return available(reader)


def available(reader: SplitReader) -> list[str]:
    read: list[str] = []
    while isinstance(chunk := reader.read(100), Chunk):
        assert not chunk.dead_letters
        read += chunk.columns[0].to_pylist()
    return read


def append(path: Path, data: str) -> None:
    with path.open("a") as file:
        file.write(data)


def job_of(
    tmp_path: Path, *, rereads: bool = False, decoder: Callable[[], LineDecoder] = text
) -> Job:
    for name in ("in", "log"):
        (tmp_path / name).mkdir()
    return Job(tmp_path / "in" / "*.log", tmp_path / "log", rereads=rereads, decoder=decoder)
