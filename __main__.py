"""The `fsql` command.  Ctrl-C ends it without a word from its first import on."""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # `exit_codes.INTERRUPTED`: nothing else is imported out here


def main() -> None:
    """Carry out the command line."""
    try:
        from fsql.cli import main as command
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    command()


if __name__ == "__main__":
    main()
