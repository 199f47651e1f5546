"""The `fsql` command.  Ctrl-C ends it without a message from its first import on."""

import gc
import sys

_OBJECTS_BETWEEN_COLLECTIONS = 300_000
"""While modules are imported, nothing is garbage: a run makes 150,000 objects; a collection takes 60 ms."""
INTERRUPTED = 130  # `exit_codes.INTERRUPTED`: nothing else is imported out here


def main() -> None:
    """Carry out the command line."""
    try:
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        from fsql.runtime.compiled_modules import find_compiled_modules
        from fsql.runtime.hidden_pandas import hide_pandas

        find_compiled_modules()
        hide_pandas()
        if any("=" in argument or "://" in argument for argument in sys.argv):
            _hide_secrets()
        from fsql.cli import main as command
        from fsql.console.forked_commands import OWN_PROCESS

        command(prog_name="fsql", obj=OWN_PROCESS)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        # Python looks for cycles among all objects again and again while it ends, which would take a third of
        # the time of a short command.  What is left goes with the process.
        gc.freeze()


def _hide_secrets() -> None:
    """Show the command line without tokens and passwords in the list of processes."""
    from fsql.compiler.diagnostics.secrets import shown_arguments

    shown = shown_arguments(sys.argv[1:])
    if shown != sys.argv[1:]:
        from shlex import join

        from setproctitle import setproctitle

        setproctitle(join(["fsql", *shown]))


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` looks for modules in the working directory first: files beside the data are not code.
        del sys.path[0]
    main()
