"""Members: which workers there are, which take part in the epoch, and which count as failed."""
