"""Which keys have changed, as watches report it.

A watch fires once; the read that determines what has changed sets it again.  An entry that is created and
deleted between two reads is not detected.  After a lost connection, watches may have been missed, so all
entries are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kazoo.exceptions import NoNodeError

from fsql.runtime.coordination.port import Changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.coordination.zookeeper.connection import Connection


class ChangedKeys:
    """The changes below one path.

    Args:
        connection: where watches are set.
        path: the path whose children are the entries.
        key_of: the key of an entry, by the name of the child.
    """

    def __init__(self, connection: Connection, path: str, key_of: Callable[[str], str]) -> None:
        self._connection = connection
        self._path = path
        self._key_of = key_of
        self._seen: dict[str, int] = {}
        """The transaction that wrote each entry last."""
        self._changed: dict[str, int] = {}
        """The mark of each key's last change."""
        self._mark = 0
        self._fired = True
        connection.add_listener(self._fire)

    def since(self, mark: int) -> Changes:
        """Return what has changed since `mark`."""
        self._connection.call("sync", self._path)
        self._connection.await_watches()
        if self._fired:
            self._refresh()
        keys = [key for key, when in self._changed.items() if when > mark]
        return Changes(max(mark, self._mark), tuple(sorted(keys)))

    def _refresh(self) -> None:
        # Before the reads, which set the watches: what fires during them is read next time.
        self._fired = False
        try:
            found = self._read()
        except BaseException:
            self._fired = True
            raise
        changed = [name for name in found.keys() | self._seen.keys() if self._differs(name, found)]
        self._seen = found
        if changed:
            self._mark += 1
            self._changed.update({self._key_of(name): self._mark for name in changed})

    def _read(self) -> dict[str, int]:
        found = {}
        for name in self._connection.call("get_children", self._path, watch=self._fire):
            status = self._status(f"{self._path}/{name}")
            if status is not None:
                found[name] = status.mzxid
        return found

    def _status(self, path: str) -> Any:  # noqa: ANN401 - kazoo has no types
        try:
            return self._connection.call("get", path, watch=self._fire)[1]
        except NoNodeError:
            return None

    def _differs(self, name: str, found: dict[str, int]) -> bool:
        return found.get(name) != self._seen.get(name)

    def _fire(self, _: object) -> None:
        self._fired = True
