"""Bound queries: what a SELECT says, with names resolved and types known.

The binder makes these records, and the planner makes operators of them.  They name no syntax.
"""
