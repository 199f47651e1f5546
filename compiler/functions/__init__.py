"""The functions: one typed table, and the meaning of expressions over one row.

`table.py` lists every scalar function; the other modules hold the rows by theme, each with its
implementation over Python values.  `evaluate.py` interprets a bound expression with them, and is what
the item-by-item model and constant folding run; column kernels are held to it by tests.
"""
