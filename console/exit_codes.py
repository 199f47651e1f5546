"""The exit codes of commands."""

from __future__ import annotations

from typing import Final

OK: Final = 0
USER_ERROR: Final = 1
USAGE: Final = 2
STOPPED: Final = 3
INTERNAL: Final = 70
"""EX_SOFTWARE of sysexits.h."""
INTERRUPTED: Final = 130
"""128 plus the number of SIGINT, as in shells."""

HELP: Final = """\
Exit codes:

\b
  0    success
  1    error in the script or in a file that it names
  2    error in the command line
  3    a row stopped the job: it is malformed, or an expression failed on it
  130  interrupted by Ctrl-C
  143  terminated by SIGTERM
  70   internal error: please report it
"""
