"""The kernel of joins."""
