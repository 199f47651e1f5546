"""Sessions: rows are kept by session, and are released when it closes."""
