"""`fsql completion`: prints the script with which a shell completes command lines."""

from __future__ import annotations

from typing import Final

import click

_SHELLS: Final = ("bash", "zsh", "fish")
_INSTALLED: Final = {
    "bash": 'eval "$(fsql completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(fsql completion zsh)"     # in ~/.zshrc',
    "fish": "fsql completion fish | source     # in ~/.config/fish/config.fish",
}


@click.command(
    short_help="Print a completion script for a shell.",
    epilog="\b\n" + "\n".join(_INSTALLED[shell] for shell in _SHELLS),
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script for bash, zsh or fish that completes commands, flags, choices and file names of fsql."""
    from click.shell_completion import get_completion_class

    made_for = get_completion_class(shell)
    assert made_for is not None, f"click has no completion for {shell}"
    root = ctx.find_root()
    script = made_for(root.command, {}, "fsql", "_FSQL_COMPLETE").source()
    click.echo(script)
