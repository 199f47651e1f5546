"""How many files may be open: a directory of many files is a table of many splits, all read together."""

from __future__ import annotations

from contextlib import suppress


def raise_open_files_limit() -> None:
    """Allow this process as many open files as the system lets it have without asking anybody."""
    try:
        import resource
    except ImportError:  # not a Unix: the limit is another one
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems name a hard limit that they do not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
