"""Tables that are read as changes, and changes that are read as rows."""
