"""Filters move down, so that rows are dropped as early as possible.

Each file holds the rule for one operator that a filter moves below.  What they have in common: a filter
does not move to where it keeps a row from failing, or where it fails a row that would not have come to
it (`conjuncts.split_movable`, `failures`); and it never moves below a WindowAggregate, which counts the late
rows that come to it, wanted or not.
"""
