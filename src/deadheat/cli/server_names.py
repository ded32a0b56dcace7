"""Completes the names of servers on the command line."""

import click

from deadheat.catalog import find_root
from deadheat.errors import DeadheatError


def complete_servers(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The folders in `servers/` that begin with the word; nothing without a catalog."""
    try:
        folder = find_root(ctx.params.get("catalog")) / "servers"
        names = [path.name for path in folder.iterdir() if (path / "server.toml").is_file()]
    except (DeadheatError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete))
