"""Positions of results as texts that clients keep and send back.

A position is the pair of integers of a root: the text is `TIME.ORIGIN`, or `begin` and `end`.  A reader of
the text needs to know nothing of it but that it is equal, or not.
"""

from __future__ import annotations

import re
from typing import Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import END, START, Root

_TEXT: Final = re.compile(r"(-?\d{1,19})\.(-?\d{1,19})", re.ASCII)
_LIMIT: Final = 2**63


def text_of(root: Root) -> str:
    """Return a position as text."""
    if root == START:
        return "begin"
    return "end" if root == END else f"{root.time}.{root.origin}"


def position_of(text: str) -> Root:
    """Return the position that a text stands for.

    Raises:
        FsqlError: E675, if it is none.
    """
    if text in {"begin", "end"}:
        return START if text == "begin" else END
    match = _TEXT.fullmatch(text)
    if match is not None:
        root = Root(int(match[1]), int(match[2]))
        if all(-_LIMIT <= each < _LIMIT for each in root):
            return root
    message = f'"{text[:60]}" is not a position'
    helps = ("give the position of an answer or of an event as it was received",)
    raise FsqlError([Diagnostic("E675", message, helps=helps)])
