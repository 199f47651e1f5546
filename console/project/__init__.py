"""Projects: a directory with `fsql.toml`, scripts, data and tests."""
