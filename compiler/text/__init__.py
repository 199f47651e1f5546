"""The text of a script: its source, its limits, and its parameters."""
