"""The functions that number the rows of a partition, which are called with OVER only."""

from __future__ import annotations

from typing import Final

from fsql.compiler.logical import RankFunction

RANK_FUNCTIONS: Final = {function.value: function for function in RankFunction}
