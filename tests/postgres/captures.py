"""A job that writes the events of a table to its log, and what the events make."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Final

import psycopg

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.live.front_log import LogWriter
from fsql.connectors.live.log_split import LogSplit
from fsql.connectors.live.time_bounds import BoundOptions
from fsql.connectors.postgres.capture_inflow import CaptureInflow
from fsql.connectors.postgres.captured_table import UNAVAILABLE, Declared
from fsql.connectors.postgres.change_stream import Capture
from fsql.connectors.postgres.client import Database, TableName
from fsql.formats.text.decoder import TextDecoder
from fsql.tests.unit.connectors.follow_jobs import available

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LARGE: Final = 1 << 20
COLUMNS: Final = (Column("k", BIGINT), Column("v", STRING), Column("long", STRING))


class Capturing:
    """A job that is started, stopped and killed; what is killed loses what is not in the log."""

    def __init__(
        self,
        folder: Path,
        url: str,
        columns: tuple[Column, ...] = COLUMNS,
        key: tuple[str, ...] = ("k",),
        **options: bool,
    ) -> None:
        self._logs = folder / "log"
        self.capture = Capture(
            Database(url, {}),
            Declared(TableName("", "t"), columns, key, ()),
            "s" + url.rpartition("/")[2],
            "p",
            from_latest=options.get("from_latest", False),
            ends=options.get("ends", False),
        )
        self.notices: list[str] = []
        self._opened = ExitStack()
        self.start()

    def start(self) -> None:
        """Start, or start again after being killed."""
        self.close()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        self.inflow = CaptureInflow(self.capture, self.notices.append)
        self._opened.callback(self.inflow.close)
        known_end = self.inflow.open_journal(self._logs)
        self.log = LogWriter(self._logs, LARGE, segment_bytes=2000, known_end=known_end)
        self._opened.callback(self.log.close)
        self.inflow.resume(self.log)

    def close(self) -> None:
        """Close all; nothing is written."""
        self._opened.close()

    def step(self, bytes_max: int = LARGE, share: float = 1.0) -> int:
        """Carry events to the log, of a part the beginning only; return how many bytes came."""
        data = self.inflow.read(bytes_max, 0.05) or b""
        self.log.append(data[: int(len(data) * share)])
        self.log.flush()
        return len(data)

    def lines(self) -> list[str]:
        """Return the rows of the log."""
        split = LogSplit("t", self._logs, lambda: TextDecoder(1 << 20), BoundOptions())
        with closing(split.open()) as reader:
            return available(reader)


def table_of(lines: Iterable[str], key: str = "k") -> dict[Any, dict[str, Any]]:
    """Return the table that events make, as the decoder and the fold of changes make it."""
    rows: dict[Any, dict[str, Any]] = {}
    for line in lines:
        event = json.loads(line)
        old, new = event.get("before"), event.get("after")
        if event["op"] == "d":
            del rows[old[key]]
            continue
        before = rows.get((old or new)[key], {})
        if old is not None and old[key] != new[key]:
            before = rows.pop(old[key])
        known = {**before, **{k: v for k, v in (old or {}).items() if v is not None}}
        rows[new[key]] = {k: known[k] if v == UNAVAILABLE else v for k, v in new.items()}
    return rows


def stored(url: str, key: str = "k") -> dict[Any, dict[str, Any]]:
    """Return the table that the database has."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT to_json(t) FROM t").fetchall()
    return {row[key]: row for (row,) in rows}
