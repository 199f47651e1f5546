"""Columns that are not read are removed.

`demand` is the analysis: which columns of each operator any of its readers uses.  `narrow` rebuilds the plan
with only these columns.  Some unused columns are kept:

* expressions that can fail, because their failures are part of the result;
* the physical columns of a table: a Project above the Scan selects the used ones;
* columns that decide an order: if rows can share a position, an Over depends on all columns of its input;
* all columns of the input of a window if late rows are written, with all their columns, or if rows are
  retracted, because a change of any column is one more late row;
* one column if none is used (COUNT(*)): rows without columns need more special cases than a column.
"""

from fsql.compiler.rules.prune_columns.narrow import prune_columns

__all__ = ["prune_columns"]
