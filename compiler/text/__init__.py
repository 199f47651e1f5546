"""The text of a script: its source, its limits, and the parameters that stand in it."""
