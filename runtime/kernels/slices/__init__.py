"""Window aggregates from slices: a row is accumulated once, however many windows it is in."""
