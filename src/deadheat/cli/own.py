"""Racers that no folder stands behind: a command line of the user's, or a server that runs."""

import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from deadheat.campaign.racer import CANARY_WORKS, Racer
from deadheat.errors import DeadheatError
from deadheat.protocol import Protocol


def own_racers(
    command: Sequence[str], urls: Sequence[str], taken: Collection[str], protocol: Protocol
) -> list[Racer]:
    """What the user brought. Raises `DeadheatError` for what cannot be measured."""
    if urls and protocol.residency == "alone":
        raise DeadheatError(
            f"--url: the protocol {protocol.name} starts its servers itself",
            "give the command line behind `--`, or use another protocol",
        )
    return list(_distinct([*_commanded(command), *map(_running, urls)], taken))


def _commanded(command: Sequence[str]) -> Iterator[Racer]:
    if not command:
        return
    if not any("{port}" in part for part in command):
        raise DeadheatError(
            f"the command `{' '.join(command)}` does not say where its port goes",
            "write {port} in its place: deadheat run -- ./my-server --port {port}",
        )
    program = shutil.which(command[0])
    if program is None:
        raise DeadheatError(f"no program {command[0]!r} is here to run", "give its path")
    yield Racer(
        name=Path(command[0]).name,
        role="rival",
        command=(str(Path(program).absolute()), *command[1:]),  # a venv's python is a link
        cwd=str(Path.cwd()),
        any_body=True,
    )


def _running(url: str) -> Racer:
    try:
        parts = urlsplit(url)
        plain = parts.scheme == "http" and parts.hostname and parts.port != 0
    except ValueError:
        plain = False
    if not plain:
        raise DeadheatError(
            f"--url {url!r}: expected an http address", "such as http://127.0.0.1:8080/"
        )
    name = f"{parts.netloc}{parts.path.rstrip('/')}"
    return Racer(name=name, role="rival", command=(), any_body=True, url=url)


def _distinct(racers: Sequence[Racer], taken: Collection[str]) -> Iterator[Racer]:
    """No two of one name; the user's get a mark."""
    names = {*taken, *CANARY_WORKS}
    for racer in racers:
        if racer.name in names and racer.url is not None:
            raise DeadheatError(f"--url {racer.url!r} is given twice", "name it once")
        name = f"{racer.name}:own" if racer.name in names else racer.name
        names.add(name)
        yield replace(racer, name=name)
