"""Types of other systems that do not exist here, with the nearest types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHER_TYPES: Final[Mapping[str, str]] = {
    "UUID": "STRING",
    "ENUM": "STRING",
    "DATETIME": "TIMESTAMP",
    "SERIAL": "BIGINT",
    "BIGSERIAL": "BIGINT",
    "LONG": "BIGINT",
    "UNSIGNED": "UBIGINT",
    "MONEY": "DECIMAL(19, 2)",
    "NUMBER": "DECIMAL(p, s)",
    "BLOB": "BYTES",
    "INT64": "BIGINT",
    "INT32": "INT",
    "INT16": "SMALLINT",
    "UINT64": "UBIGINT",
    "UINT32": "UINT",
    "FLOAT64": "DOUBLE",
    "FLOAT32": "FLOAT",
}
"""Types of other SQL dialects, with the nearest types."""
