"""Filters move down, so that rows are dropped as early as possible.

Each file has the rule for one operator below which a filter moves.  All have in common that a filter does not
move to where it would drop a row that fails now, or fail on a row that it does not receive now
(`conjuncts.split_movable`, `failures`); and that it never moves below a WindowAggregate, which counts all
late rows that it receives.
"""
