"""Where in the text a part of the plan comes from: a table beside the plan, kept while a script is bound.

Nodes carry no spans (`compiler.node`), so equal expressions that are written twice are one node, and have
two places.  The table is ambient: whoever binds or moves an expression adds to the table of the script
that is being bound, if there is one, and nothing in between has to hand it on.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from fsql.compiler.logical import AssignWindows
from fsql.compiler.node import children

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from fsql.compiler.node import Node
    from fsql.compiler.text.source import Span


class Places:
    """The places of the parts of a plan, in the order in which they were bound."""

    def __init__(self) -> None:
        self._spans: dict[Hashable, dict[Span, None]] = {}

    def add(self, node: Node, span: Span) -> None:
        """Note that `node` comes from the text at `span`."""
        self._spans.setdefault(_key(node), {})[span] = None

    def of(self, node: Node) -> tuple[Span, ...]:
        """Return the places that `node` comes from, none if they are not known."""
        return tuple(self._spans.get(_key(node), ()))

    def follow(self, before: Node, after: Node) -> None:
        """Note that `after`, which was made of `before` part by part, comes from the same places."""
        waiting = [(before, after)]
        while waiting:
            old, new = waiting.pop()
            if old is new or type(old) is not type(new):
                continue
            for span in self.of(old):
                self.add(new, span)
            parts, moved = list(children(old)), list(children(new))
            if len(parts) == len(moved):
                waiting.extend(zip(parts, moved, strict=True))


def _key(node: Node) -> Hashable:
    # The tables at the bottom of a plan are decided on last, which makes its operators anew.
    if isinstance(node, AssignWindows):
        return AssignWindows, node.size_us, node.slide_us, node.offset_us
    return node


_current: Final[ContextVar[Places | None]] = ContextVar("places", default=None)


@contextmanager
def noting_places() -> Iterator[Places]:
    """Collect, in the table that this gives, the places of all that is bound in the block."""
    places = Places()
    token = _current.set(places)
    try:
        yield places
    finally:
        _current.reset(token)


def note_place(node: Node, span: Span) -> None:
    """Note that `node` comes from the text at `span`."""
    places = _current.get()
    if places is not None:
        places.add(node, span)


def note_move(before: Node, after: Node) -> None:
    """Note that `after` was made of `before` part by part."""
    places = _current.get()
    if places is not None:
        places.follow(before, after)
