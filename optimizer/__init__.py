"""Graph to tick plan."""
