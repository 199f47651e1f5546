"""Files that are followed: they grow, are rotated, and new ones come."""
