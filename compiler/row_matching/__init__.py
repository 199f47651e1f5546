"""Finds the matches of a row pattern in the rows of a partition, one row after the other.

`automaton` turns the pattern into states in the order of preference, `navigation` reads values of the rows of
a match, `matcher` follows all ways of matching at once.
"""

from fsql.compiler.row_matching.matcher import NO_ROWS, Matcher, Matching, Way

__all__ = ["NO_ROWS", "Matcher", "Matching", "Way"]
