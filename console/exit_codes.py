"""What a command returns to the shell."""

from __future__ import annotations

from typing import Final

OK: Final = 0
USER_ERROR: Final = 1
USAGE: Final = 2
STOPPED: Final = 3
INTERNAL: Final = 70
"""EX_SOFTWARE of sysexits.h."""
INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells have it."""

HELP: Final = """\
Exit codes:

\b
  0    done
  1    the script, or a file that it names, is in error
  2    the command line is in error
  3    a row stopped the job: malformed, or an expression failed on it
  130  interrupted by Ctrl-C
  143  ended by SIGTERM
  70   internal error: please report it
"""
