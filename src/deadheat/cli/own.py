"""Racers that no folder stands behind: a command line of the user's, or a server that runs."""

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from deadheat.errors import DeadheatError
from deadheat.measure.contender import CONTROL_WORKS, Contender
from deadheat.protocol import Protocol


def own_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is asked of the user's own server; the command gets it as `path` and `any_body`."""
    path = click.option("--path", help="What is asked of the command behind `--`.  [/]")
    any_body = click.option(
        "--any-body", is_flag=True, help="Answers of your own server may vary: read the status."
    )
    return path(any_body(command))


def own_racers(
    command: Sequence[str],
    urls: Sequence[str],
    taken: Collection[str],
    protocol: Protocol,
    path: str | None = None,
    any_body: bool = False,
) -> list[Contender]:
    """What the user brought. Raises `DeadheatError` for what cannot be measured."""
    require_own(command, urls, path, any_body)
    if urls and protocol.residency == "alone":
        raise DeadheatError(
            f"--url: the protocol {protocol.name} starts its servers itself",
            "give the command line behind `--`, or use another protocol",
        )
    brought = [*_commanded(command, path or "/"), *map(_running, urls)]
    return [replace(one, body_varies=any_body) for one in _distinct(brought, taken)]


def require_own(
    command: Sequence[str], urls: Sequence[str], path: str | None, any_body: bool
) -> None:
    """Raises `DeadheatError` for an option that has no server to speak of."""
    if path is not None and not path.startswith("/"):
        raise DeadheatError(f"--path {path!r}: expected what begins with /", "such as /api/items")
    if path is not None and not command:
        raise DeadheatError("--path is for a command behind `--`", "a --url holds its own path")
    if any_body and not command and not urls:
        raise DeadheatError(
            "--any-body is for a server of your own", "leave it out: the catalog's say one thing"
        )


def _commanded(command: Sequence[str], path: str) -> Iterator[Contender]:
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
    yield Contender(
        name=Path(command[0]).name,
        role="contender",
        command=(str(Path(program).absolute()), *command[1:]),  # a venv's python is a link
        cwd=str(Path.cwd()),
        any_body=True,
        path=path,
    )


def _running(url: str) -> Contender:
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
    return Contender(name=name, role="contender", command=(), any_body=True, url=url)


def _distinct(contenders: Sequence[Contender], taken: Collection[str]) -> Iterator[Contender]:
    """No two of one name; the user's get a mark."""
    names = {*taken, *CONTROL_WORKS}
    for contender in contenders:
        if contender.name in names and contender.url is not None:
            raise DeadheatError(f"--url {contender.url!r} is given twice", "name it once")
        name = f"{contender.name}:own" if contender.name in names else contender.name
        names.add(name)
        yield replace(contender, name=name)
