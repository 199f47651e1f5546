"""The error of a file that is not as its format requires."""


class DamagedError(Exception):
    """A part of a file is damaged; the text continues a sentence whose subject is that part."""
