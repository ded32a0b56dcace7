"""`deadheat completions`: prints a script that completes commands, options and servers."""

import click
from click.shell_completion import get_completion_class

from deadheat.cli.help import listed
from deadheat.errors import DeadheatError
from deadheat.output import echo

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_DEADHEAT_COMPLETE"


@listed("completions")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """It completes commands, options and the names of servers. Write it to the place where your
    shell looks for completions, and start a new shell.

    \b
    Examples:
      deadheat completions bash > ~/.local/share/bash-completion/completions/deadheat
      deadheat completions zsh > "${fpath[1]}/_deadheat"
      deadheat completions fish > ~/.config/fish/completions/deadheat.fish
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise DeadheatError(f"SHELL {shell}: no completion for it", f"use {', '.join(SHELLS)}")
    program = ctx.find_root().info_name or "deadheat"
    # The source itself: click's own entry would start bash to ask for its version.
    script = completion(ctx.find_root().command, {}, program, VARIABLE)
    echo(script.source_template % script.source_vars())
