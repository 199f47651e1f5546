"""The operator of changes as rows (TO_CHANGELOG)."""
