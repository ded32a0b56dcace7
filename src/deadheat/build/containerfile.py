"""Containerfiles: a server's manifest and recipe in the format of podman and docker."""

import json
from collections.abc import Iterable, Mapping

from deadheat.catalog import Selection, Server, fill, fill_env

# debian:bookworm-20250811-slim, the index of all architectures.
BASE_IMAGE = "debian@sha256:b1a741487078b369e78119849663d7f1a5341ef2768798f7b7406c4240f86aef"
FOLDER = "/app"  # what {build} is in an image
PORT = 8080
ANY = "0.0.0.0"


def containerfile(selection: Selection, base_image: str = BASE_IMAGE) -> str:
    """The Containerfile of a server at a setting; its context is the server's folder.

    The arguments of all commands are JSON lists, so no shell changes them.
    """
    start = selection.start
    values = {
        "build": FOLDER,
        "host": ANY,
        "port": str(PORT),
        "workers": str(start.workers),
        "threads": str(start.threads),
    }
    lines = [
        f"# {selection.name}, from {selection.server.name}/server.toml and its recipe.",
        "# The context is the folder of the server, with its lock file.",
        *_image_lines(selection.server, base_image),
        *_environment(fill_env(start.env, values)),
        f"STOPSIGNAL {start.stop_signal}",
        f"CMD {json.dumps(fill(start.command, values))}",
    ]
    return "\n".join(lines) + "\n"


def image_file(server: Server, base_image: str) -> str:
    """A Containerfile that only builds: deadheat gives the command and its environment itself."""
    return "\n".join(_image_lines(server, base_image)) + "\n"


def _image_lines(server: Server, base_image: str) -> Iterable[str]:
    yield f"ARG BASE_IMAGE={base_image}"
    yield "FROM ${BASE_IMAGE}"
    installs = list(dict.fromkeys(need.install for need in server.needs))
    if installs:
        yield from _shell(["apt-get update", *installs, "rm -rf /var/lib/apt/lists/*"])
    yield f"WORKDIR {FOLDER}"
    yield "COPY . ."
    values = {"build": FOLDER}
    env = [f"{name}={value}" for name, value in fill_env(server.build_env, values).items()]
    for step in server.steps:
        command = fill(step, values)
        yield f"RUN {json.dumps(['env', *env, *command] if env else command)}"


def _shell(commands: list[str]) -> Iterable[str]:
    """One layer; the first command that fails ends it."""
    if any("\n" in command for command in commands):
        yield f"RUN {json.dumps(['sh', '-c', ' && '.join(commands)])}"
        return
    yield "RUN export DEBIAN_FRONTEND=noninteractive \\"
    for command in commands[:-1]:
        yield f" && {command} \\"
    yield f" && {commands[-1]}"


def _environment(env: Mapping[str, str]) -> Iterable[str]:
    for name, value in env.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
        yield f'ENV {name}="{escaped}"'
