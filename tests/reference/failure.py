"""Failures of rows, by the number of the error."""

from __future__ import annotations

from typing import Final

DIVISION_BY_ZERO: Final = 501
OUT_OF_RANGE: Final = 502
NOT_CASTABLE: Final = 503
TIMESTAMP_OUT_OF_RANGE: Final = 504
SUM_OUT_OF_RANGE: Final = 505
NO_MAP: Final = 510
NOT_THERE: Final = 526
NOT_AVAILABLE: Final = 527


class FailureError(Exception):
    """A row failed; `code` is the number of the error (501 for FSQL-E501)."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
