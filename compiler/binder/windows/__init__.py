"""Windows over event time."""
