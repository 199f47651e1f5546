"""Plain text: each line is a row of one column."""
