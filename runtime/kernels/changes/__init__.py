"""The operator of tables of changes: rows that replace each other by key, or are counted."""
