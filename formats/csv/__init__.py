"""CSV: records of fields with a delimiter between them."""
