"""How deep functions may call themselves for a script."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_STACK_DEPTH: Final = 10_000
"""200 nested subqueries, the limit of the parser, need about 3,000 nested calls."""


@contextmanager
def deep_stack() -> Iterator[None]:
    """Raise the recursion limit to the depth that the text may require."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
