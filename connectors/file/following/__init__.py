"""Files that are followed: they grow and are rotated, and new ones appear."""
