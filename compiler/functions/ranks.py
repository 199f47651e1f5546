"""The functions that are called with OVER only: those that number rows, and those that read a row."""

from __future__ import annotations

from typing import Final

from fsql.compiler.logical import RankFunction

RANK_FUNCTIONS: Final = {function.value: function for function in RankFunction}
ROW_FUNCTIONS: Final = frozenset({"LAG", "LEAD", "NTH_VALUE"})
RELATIVE_RANKS: Final = frozenset({"CUME_DIST", "NTILE", "PERCENT_RANK"})
OVER_ONLY: Final = frozenset({*RANK_FUNCTIONS, *ROW_FUNCTIONS, *RELATIVE_RANKS})
