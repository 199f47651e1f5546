"""The column of lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.connectors import Options
    from fsql.compiler.schema import Schema
    from fsql.formats.settings import Settings


def infer_columns(samples: Sequence[bytes], settings: Settings) -> tuple[Schema, Options]:
    """Return the column `line` and no options; it does not depend on the lines."""
    del samples, settings
    return (Column("line", STRING),), ()
