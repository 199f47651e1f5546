"""Finds the matches of a row pattern in the rows of a partition, row by row.

`automaton` turns the pattern into states in the order of preference, `navigation` reads values of the rows of
a match, `matcher` follows all candidates at once.
"""

from fsql.compiler.row_matching.matcher import NO_ROWS, MatchedRows, Matcher, Matching

__all__ = ["NO_ROWS", "MatchedRows", "Matcher", "Matching"]
