"""Hides pandas from pyarrow in the processes of fsql.

Where pandas is installed, pyarrow imports it at its first array, which takes half a second and 50 MB in each
process.  In fsql, only Spark needs it.  Programs that use fsql as a library are not affected.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


class _Finder:
    """Finds no pandas, and leaves all other modules to the finders after it."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


_FINDER: Final = _Finder()


def hide_pandas() -> None:
    """Make imports of pandas fail from now on."""
    sys.meta_path.insert(0, _FINDER)


def show_pandas() -> None:
    """Allow imports of pandas again."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
