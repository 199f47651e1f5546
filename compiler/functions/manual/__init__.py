"""The manual of the scalar functions: what each means, how it fails a row, and examples that are TRUE.

A module is a page of `docs/functions`; tests run every example and hold the pages to the table of functions.
"""
