"""Values of answers as JSON has them."""

from __future__ import annotations

import base64
import datetime as dt
import math
from decimal import Decimal
from typing import Any


def plain(value: Any) -> Any:  # noqa: ANN401, PLR0911 - values of all types
    """Return a value as JSON has it: times in ISO 8601, decimals as texts, bytes in base64."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(key): plain(part) for key, part in value.items()}
        case list() | tuple():
            return [plain(part) for part in value]
        case bytes():
            return base64.b64encode(value).decode()
        case dt.timedelta():
            return value.total_seconds()
        case Decimal():
            return f"{value:f}"
        case dt.datetime():
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
        case dt.date() | dt.time():
            return value.isoformat()
        case _:
            pass
    return str(value)
