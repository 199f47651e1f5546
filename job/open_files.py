"""The limit of open files: a table over many files has all of them open."""

from __future__ import annotations

from contextlib import suppress


def raise_open_files_limit() -> None:
    """Raise the limit of open files of this process to the hard limit."""
    try:
        import resource
    except ImportError:  # not available outside of Unix
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems report a hard limit that cannot be set
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
