"""Followed files, which grow and are rotated while they are read, and to which new files are added."""
