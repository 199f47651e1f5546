"""CSV: fields with a delimiter between them, one record on each line."""
