"""A program `ssh` that runs the command here, or refuses as the real one does."""

import shlex
from pathlib import Path

RUNS = """#!/bin/sh
if [ "$1" = -G ]; then
    echo "hostname 127.0.0.1"
    exit
fi
for command; do :; done
export HOME={home} PATH={path}:"$PATH"
unset XDG_CACHE_HOME
exec sh -c "$command"
"""
REFUSES = """#!/bin/sh
echo {said} >&2
exit {code}
"""


def running_ssh(folder: Path) -> Path:
    """The folder for PATH. The home and the programs of the far side are in `folder`."""
    home, programs = folder / "far-home", folder / "far-bin"
    for each in (home, programs):
        each.mkdir(parents=True)
    return _written(folder, RUNS.format(home=home, path=programs))


def refusing_ssh(folder: Path, said: str, code: int = 255) -> Path:
    """The folder for PATH."""
    return _written(folder, REFUSES.format(said=shlex.quote(said), code=code))


def _written(folder: Path, text: str) -> Path:
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "ssh").write_text(text)
    (programs / "ssh").chmod(0o755)
    return programs
