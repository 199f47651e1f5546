"""Input that cannot be read again: standard input and sockets, and the front log that keeps it."""
