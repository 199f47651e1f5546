"""The error for a file that violates its format."""


class DamagedError(Exception):
    """A part of a file is damaged; the text continues a sentence whose subject is that part."""
