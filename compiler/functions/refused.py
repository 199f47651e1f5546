"""Functions that people reach for and that a query may not call, with what to use instead.

A query whose result is to be the same at every replay can only be made of what its input says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMN = "let the input bring the value, in a column of its own"
_EVENT_TIME = "use the event-time column of the table"

NOT_DETERMINISTIC: Final[Mapping[str, str]] = {
    "RAND": _COLUMN,
    "RANDOM": _COLUMN,
    "RAND_INTEGER": _COLUMN,
    "UUID": _COLUMN,
    "GEN_RANDOM_UUID": _COLUMN,
    "CURRENT_TIMESTAMP": _EVENT_TIME,
    "CURRENT_TIME": _EVENT_TIME,
    "CURRENT_DATE": _EVENT_TIME,
    "CURRENT_ROW_TIMESTAMP": _EVENT_TIME,
    "LOCALTIMESTAMP": _EVENT_TIME,
    "LOCALTIME": _EVENT_TIME,
    "SYSDATE": _EVENT_TIME,
    "NOW": _EVENT_TIME,
    "PROCTIME": _EVENT_TIME,
}
"""The functions whose value is not decided by the input, by name; and what to do instead."""
