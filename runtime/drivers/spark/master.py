"""The URL of the Spark master: from a flag, or from the environment, which other users cannot see."""

from __future__ import annotations

import os
from typing import Final

MASTER_VARIABLE: Final = "FSQL_SPARK_MASTER"
DEFAULT_MASTER: Final = "local[*]"


def master_or_default(given: str | None) -> str:
    """Return the URL that a flag gives, else that of the environment, else Spark in this process."""
    return given or os.environ.get(MASTER_VARIABLE) or DEFAULT_MASTER
