"""The flags for messages that all commands have; errors as text and exit codes."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from fsql.console import exit_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.console.reporter import Reporter

    Command = Callable[..., None]


_OTHER_NAMES: Final = {
    "cancel": "stop",
    "drain": "stop --drain",
    "jobs": "list",
    "kill": "stop",
    "resume": "restart",
    "savepoint": "snapshot take",
    "start": "restart",
    "submit": "deploy",
}
"""Commands by what others call them."""


class Commands(click.Group):
    """The group of commands; turns exceptions into messages and exit codes."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Parse the command line."""
        with _end_quietly():
            return super().make_context(info_name, args, parent, **extra)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names.

        Raises:
            click.UsageError: if there is none; it names a similar one.
        """
        name = args[0]
        is_flag = name.startswith("-")
        if self.get_command(ctx, name) is None and not is_flag and not ctx.resilient_parsing:
            from fsql.compiler.diagnostics.near_names import near_name

            # Commands that only other processes execute are not suggested.
            known = {each: self.get_command(ctx, each) for each in self.list_commands(ctx)}
            shown = [each for each, command in known.items() if command and not command.hidden]
            near = _OTHER_NAMES.get(name) or near_name(name, shown)
            hint = "" if near is None else f" Did you mean '{near}'?"
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with _end_quietly():
            return self._run_command(ctx)

    def _run_command(self, ctx: click.Context) -> object:
        from fsql.compiler.diagnostics import FsqlError
        from fsql.console.broken_pipe import discard_standard_output
        from fsql.job.script import ScriptError

        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except ScriptError as error:
            _reporter(ctx).error(error)
            ctx.exit(exit_codes.USAGE)
        except FsqlError as error:
            _reporter(ctx).error(error)
            is_bug = any(each.code.startswith("I") for each in error.diagnostics)
            ctx.exit(exit_codes.INTERNAL if is_bug else exit_codes.USER_ERROR)
        except BrokenPipeError:
            discard_standard_output()
            ctx.exit(exit_codes.OK)
        except Exception as error:  # noqa: BLE001 - a bug must not look like the user's mistake
            from fsql.console.internal_error import print_internal_error

            print_internal_error(error, _reporter(ctx), debug=bool(ctx.meta.get("fsql.debug")))
            ctx.exit(exit_codes.INTERNAL)


class ImportedCommands(Commands):
    """Commands of other modules, each of which is imported when one of its commands is needed."""

    def __init__(self, *arguments: Any, modules: Mapping[str, Sequence[str]], **named: Any) -> None:  # noqa: ANN401
        """Take the names of commands by their modules, besides what a group of click takes."""
        super().__init__(*arguments, **named)
        self._modules = {name: module for module, names in modules.items() for name in names}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        module = self._modules.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        found = vars(import_module(module)).values()  # the name of a variable may differ: `list_`
        return next(
            each for each in found if isinstance(each, click.Command) and each.name == cmd_name
        )


@contextmanager
def _end_quietly() -> Iterator[None]:
    """End the command without a message at Ctrl-C, also during imports."""
    try:
        yield
    except KeyboardInterrupt:
        raise click.exceptions.Exit(exit_codes.INTERRUPTED) from None


def _reporter(ctx: click.Context) -> Reporter:
    """Return the reporter of the command, even if it fails before its flags are parsed."""
    from fsql.console.reporter import Reporter

    reporter = ctx.meta.get("fsql.reporter")
    return reporter if isinstance(reporter, Reporter) else Reporter()


def pass_reporter(command: Command) -> Command:
    """Add the flags for messages, and pass a `Reporter` for them to the command."""

    @click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
    @click.option(
        "--json", "as_json", is_flag=True, help="Print messages as JSON, one object per line."
    )
    @click.option("--no-color", is_flag=True, help="Print without colours; the same as NO_COLOR=1.")
    @click.option(
        "--debug",
        is_flag=True,
        help="Verify every plan, and show the stack trace of an internal error.",
    )
    @click.pass_context
    @functools.wraps(command)
    def with_reporter(
        ctx: click.Context,
        /,
        *,
        quiet: bool,
        as_json: bool,
        no_color: bool,
        debug: bool,
        **rest: object,
    ) -> None:
        from fsql.console.reporter import Reporter, wants_colours

        coloured = wants_colours(sys.stderr, refused=no_color or as_json)
        reporter = Reporter(quiet=quiet, json=as_json, coloured=coloured)
        ctx.meta.update({"fsql.reporter": reporter, "fsql.debug": debug})
        if debug:
            os.environ["FSQL_VERIFY"] = "1"  # Worker processes inherit this.
        command(reporter=reporter, **rest)

    return with_reporter
