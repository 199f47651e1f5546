"""The protocol machines: `step(event) -> effects`, no I/O, no clock."""
