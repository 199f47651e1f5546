"""Syntax to logical plan: names resolved, types checked.

`script` binds statements, `query` and `select` their queries; the packages bind the parts of these.
"""
