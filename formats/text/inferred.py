"""The column of lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.formats.factories import InferredColumns
    from fsql.formats.settings import Settings


def infer_columns(samples: Sequence[bytes], settings: Settings) -> InferredColumns:
    """Return the column `line` no options and no notes; it does not depend on the lines."""
    del samples, settings
    return (Column("line", STRING),), (), ()
