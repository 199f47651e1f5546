"""Sessions: rows are kept by session, and come when it closes."""
