"""Columns that are not read are removed.

`demand` is the analysis: which columns of each operator its readers, all of them together, make use of.
`narrow` builds the plan again with nothing else in it.  Unused columns that stay nevertheless:

* what can fail: its failures are part of the result;
* the physical columns of a table: a Project above the Scan selects the used ones;
* the columns that decide an order: where rows can share a position, an Over depends on all columns of its
  input;
* the input of a window, where late rows are written with all their columns; and where rows are taken
  back, since a change of any column is one more late row;
* one column, where none is used (COUNT(*)): rows without columns need more special cases than a column.
"""

from fsql.compiler.rules.prune_columns.narrow import prune_columns

__all__ = ["prune_columns"]
