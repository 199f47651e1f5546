"""The records at the beginning of a source of JSON."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from fsql.formats.json.shapes import begins_document

if TYPE_CHECKING:
    from fsql.formats.json.shapes import MemberPath


def records_of(start: bytes, path: MemberPath | None, bytes_max: int) -> list[tuple[int, bytes]]:
    """Return the whole records among the first bytes of a source, each with its line.

    Without a path the bytes tell whether they are lines.
    """
    if path is None:
        if not begins_document(start, whole=False):
            lines = start.removeprefix(BOM_UTF8).splitlines()
            return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        path = ()
    from fsql.formats.json.documents import DocumentCutter  # most files have lines

    cutter = DocumentCutter(path, bytes_max)
    parts = cutter.feed(start) if start else []
    return [
        (part.number(index), part.content(index))
        for part in parts
        for index in range(len(part))
        if part.offset(index) not in cutter.faults
    ]
