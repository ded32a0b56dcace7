"""`Server`: a folder of `servers/`, with its files, its manifest and its recipe.

In manifests and recipes, the placeholder `{name}` gets its value; an unknown name is a fault. Only
lower-case words count, and not after a `$`, so `${HOME}` and awk's `{print $1}` stay.
"""

import difflib
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from deadheat.catalog.layers import layered, layered_names
from deadheat.catalog.manifest import (
    HTTP,
    TRANSPORTS,
    BuildRules,
    LanguageRuntime,
    Manifest,
    Need,
    Recipe,
    Setting,
    StartChanges,
    StartRules,
    Transport,
)
from deadheat.catalog.toml_lines import FileFault, Location, file_fault, read_toml, read_toml_text

PLACEHOLDERS = ("host", "port", "workers", "threads", "build")
# The placeholders that each table knows, in addition to the recipe's parameters.
_KNOWN_IN = {
    "needs": (),
    "build": ("build",),
    "version": ("build",),
    "runtime": ("build",),
    "start": PLACEHOLDERS,
    "settings": PLACEHOLDERS,
    "transports": (*PLACEHOLDERS, "cert", "key"),
    "env": PLACEHOLDERS,
}
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")
IGNORED = ("node_modules", "target", "__pycache__", ".venv")
FILES_MAX = 20_000
BYTES_MAX = 1 << 30
StartOrChanges = TypeVar("StartOrChanges", StartRules, Setting, StartChanges)

BUILD_TIMEOUT_S = 900.0
MULTICORE = "multicore"  # a setting of every server that has workers
MULTICORE_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Server:
    """A manifest with its recipe filled in: everything to build and start the server."""

    folder: Path
    manifest: Manifest
    needs: tuple[Need, ...]
    steps: tuple[tuple[str, ...], ...]
    build_env: Mapping[str, str]
    build_timeout_s: float
    start: StartRules
    recipe_text: str
    runtime: LanguageRuntime | None = None

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of its settings, `default` first and the catalog's own `multicore` last."""
        own = [name for name in self.manifest.settings if name != MULTICORE]
        multicore = self.start.worker != "none" or MULTICORE in self.manifest.settings
        return ("default", *own, *([MULTICORE] if multicore else []))


@dataclass(frozen=True, slots=True)
class Selection:
    """A server at one setting."""

    server: Server
    setting: str
    start: StartRules

    @property
    def name(self) -> str:
        """The server's name, its setting, and its workers if they differ from the setting's.

        A transport comes last.
        """
        parts = [self.server.name]
        has_transport = self.transport != HTTP
        if self.setting != "default" and not has_transport:
            parts.append(self.setting)
        if self.start.workers != _setting_start(self.server, self.setting).workers:
            parts.append(f"w{self.start.workers}")
        return ":".join([*parts, *([self.transport] if has_transport else [])])

    @property
    def transport(self) -> Transport:
        """What it speaks: a setting of that name, or plain HTTP/1.1."""
        return next((each for each in TRANSPORTS if each == self.setting), HTTP)

    @property
    def source_key(self) -> str:
        """A hash of all that decides how it behaves, but for the toolchain: how it is built and
        started, and the workloads that it has to answer."""
        return content_key(
            self.server,
            hash_files(self.server.folder),
            start=self.start.model_dump(mode="json"),
            workloads=sorted(self.server.manifest.workloads),
        )


def content_key(server: Server, files: Mapping[str, str], **more: object) -> str:
    """A hash of how the server is built and of `more`, twelve hexadecimal digits."""
    inputs = {
        "files": {name: digest for name, digest in files.items() if name != "server.toml"},
        "steps": server.steps,
        "env": dict(server.build_env),
        **more,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]


def selection(server: Server, setting: str = "default", workers: int | None = None) -> Selection:
    """The server at a setting of its manifest; `workers` overrides those of the setting.

    Every server with workers has `multicore`, which starts four of them.

    Raises `FileFault` with the available settings, or if the server has no setting for workers.
    """
    start = _setting_start(server, setting)
    if workers is not None and workers != start.workers:
        if start.worker == "none":
            raise _without_workers(server, f"{workers} workers requested")
        start = start.model_copy(update={"workers": workers})
    return Selection(server, setting, start)


def _setting_start(server: Server, setting: str) -> StartRules:
    start, settings = server.start, server.manifest.settings
    if setting == "default":
        return start
    if setting in settings:
        return _changed(start, settings[setting])
    transports = {str(name): each for name, each in server.manifest.transports.items()}
    if setting in transports:
        if setting == "h2" and "https" in transports:
            start = _changed(start, transports["https"])
        return _changed(start, transports[setting])
    if setting != MULTICORE:
        raise FileFault(
            f"{server.folder / 'server.toml'}: no setting {setting!r}",
            f"available: {', '.join((*server.settings, *transports))}",
        )
    if start.worker == "none":
        raise _without_workers(server, f"setting {MULTICORE!r} requested")
    return start.model_copy(update={"workers": max(start.workers, MULTICORE_WORKERS)})


def _changed(start: StartRules, chosen: StartChanges) -> StartRules:
    changes = chosen.model_dump(exclude={"why", "env"}, exclude_none=True)
    return start.model_copy(update={**changes, "env": {**start.env, **chosen.env}})


def _without_workers(server: Server, request: str) -> FileFault:
    return FileFault(
        f"{server.name}: {request}, but this server cannot start several workers "
        f'({server.folder / "server.toml"}: start.worker is "none")',
        "leave this server out, or omit --workers and --setting",
    )


def load_server(folder: Path, recipes: Path) -> Server:
    """Read the manifest of a folder and fill in its recipe.

    Raises `FileFault` with file and line for every fault.
    """
    path = folder / "server.toml"
    manifest = read_toml(path, Manifest)
    check_folder(folder)
    if manifest.name != folder.name:
        raise file_fault(path, [(("name",), f"expected the name of the folder, {folder.name!r}")])
    recipe, recipe_text = Recipe(about="none"), ""
    if manifest.recipe is not None:
        recipe, recipe_text = _recipe(path, manifest, recipes)
    values = _parameters(path, manifest, recipe)
    _reject_unknown_placeholders(path, manifest, values)
    manifest = _filled(manifest, values)
    return Server(
        folder=folder,
        manifest=manifest,
        needs=tuple(_fill_need(need, values) for need in (*recipe.needs, *manifest.needs)),
        steps=tuple(fill(step, values) for step in (*recipe.build.steps, *manifest.build.steps)),
        build_env=fill_env({**recipe.build.env, **manifest.build.env}, values),
        build_timeout_s=manifest.build.timeout_s or recipe.build.timeout_s or BUILD_TIMEOUT_S,
        start=manifest.start.model_copy(
            update={"env": {**fill_env(recipe.env, values), **manifest.start.env}}
        ),
        recipe_text=recipe_text,
        runtime=recipe.runtime
        and recipe.runtime.model_copy(update={"command": fill(recipe.runtime.command, values)}),
    )


def _filled(manifest: Manifest, values: Mapping[str, str]) -> Manifest:
    """The manifest with parameters filled into all of its commands and environments."""
    version_command = fill(manifest.version.command, values)
    return manifest.model_copy(
        update={
            "version": manifest.version.model_copy(update={"command": version_command}),
            "start": _fill_start(manifest.start, values),
            "settings": {n: _fill_start(s, values) for n, s in manifest.settings.items()},
            "transports": {n: _fill_start(s, values) for n, s in manifest.transports.items()},
        }
    )


def _fill_start(start: StartOrChanges, values: Mapping[str, str]) -> StartOrChanges:
    command = start.command and fill(start.command, values)
    return start.model_copy(update={"command": command, "env": fill_env(start.env, values)})


def _fill_need(need: Need, values: Mapping[str, str]) -> Need:
    filled = {"probe": fill(need.probe, values), "install": fill_text(need.install, values)}
    for key in ("tool", "minimum", "below"):
        if (text := getattr(need, key)) is not None:
            filled[key] = fill_text(text, values)
    return need.model_copy(update=filled)


def _recipe(path: Path, manifest: Manifest, recipes: Path) -> tuple[Recipe, str]:
    """The manifest's recipe, merged with the one that it extends; and the text of both."""
    assert manifest.recipe is not None
    file = layered(recipes.parent, f"recipes/{manifest.recipe}.toml")
    recipe, text = _recipe_file(path, manifest.recipe, recipes)
    chain = [(file, recipe)]
    if recipe.extends is not None:
        base, base_text = _recipe_file(file, recipe.extends, recipes, key="extends")
        if base.extends is not None:
            reason = f"recipe {recipe.extends!r} extends another one itself"
            raise file_fault(file, [(("extends",), reason)])
        chain.append((layered(recipes.parent, f"recipes/{recipe.extends}.toml"), base))
        recipe, text = _merged(base, recipe), base_text + text
    known = {**recipe.parameters, **manifest.parameters}
    for file, document in chain:
        _reject_unknown_placeholders(file, document, known)
    return recipe, text


def _merged(base: Recipe, recipe: Recipe) -> Recipe:
    """The base's needs and steps come first; the recipe's parameters and environment win."""
    return Recipe(
        about=recipe.about,
        runtime=recipe.runtime or base.runtime,
        parameters={**base.parameters, **recipe.parameters},
        needs=(*base.needs, *recipe.needs),
        build=BuildRules(
            steps=(*base.build.steps, *recipe.build.steps),
            env={**base.build.env, **recipe.build.env},
            timeout_s=recipe.build.timeout_s or base.build.timeout_s,
        ),
        env={**base.env, **recipe.env},
    )


def _recipe_file(
    path: Path, name: str, recipes: Path, *, key: str = "recipe"
) -> tuple[Recipe, str]:
    """The recipe that `key` of the file at `path` names."""
    file = layered(recipes.parent, f"recipes/{name}.toml")
    if not file.is_file():
        near = difflib.get_close_matches(name, layered_names(recipes.parent, "recipes"))
        hint = f"did you mean {' or '.join(near)}?" if near else f"the recipes are in {recipes}"
        raise file_fault(path, [((key,), f"no file {file}")], hint)
    state = file.stat()
    return _read_recipe(file, (state.st_mtime_ns, state.st_size, state.st_ino))


@lru_cache(maxsize=256)
def _read_recipe(file: Path, _state: tuple[int, ...]) -> tuple[Recipe, str]:
    """Servers of a family share a recipe; it is read again when its file has changed."""
    return read_toml(file, Recipe), read_toml_text(file)


def _parameters(path: Path, manifest: Manifest, recipe: Recipe) -> dict[str, str]:
    unknown = sorted(set(manifest.parameters) - set(recipe.parameters))
    if unknown:
        takes = ", ".join(recipe.parameters) or "no parameters"
        reason = f"recipe {manifest.recipe!r} takes {takes}"
        if manifest.recipe is None:
            reason = "needs a recipe that takes it"
        raise file_fault(path, [(("with", name), reason) for name in unknown])
    return {**recipe.parameters, **manifest.parameters}


def _reject_unknown_placeholders(
    path: Path, document: Manifest | Recipe, values: Mapping[str, str]
) -> None:
    """Raises `FileFault` with every placeholder that has no value in its place."""
    faults = []
    for part, placeholders in _KNOWN_IN.items():
        known = {*placeholders, *values}
        value = document.model_dump(include={part}, by_alias=True).get(part)
        for location, text in _texts(value, (part,)):
            for name in _PLACEHOLDER.findall(text):
                if name not in known:
                    available = ", ".join(f"{{{word}}}" for word in sorted(known)) or "none"
                    reason = f"unknown placeholder {{{name}}}; available: {available}"
                    faults.append((location, reason))
    if faults:
        raise file_fault(path, faults)


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` with its value. Names without a value stay."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def fill(command: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """`fill_text` for the arguments of a command."""
    return tuple(fill_text(part, values) for part in command)


def fill_env(env: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """`fill_text` for the values of an environment."""
    return {name: fill_text(text, values) for name, text in env.items()}


def _texts(value: object, location: Location) -> Iterator[tuple[Location, str]]:
    """Every string below a value, with its location, except regular expressions and prose."""
    if isinstance(value, str):
        yield location, value
    elif isinstance(value, Mapping):
        for key in value.keys() - {"pattern", "why"}:
            yield from _texts(value[key], (*location, key))
    elif isinstance(value, tuple | list):
        for index, part in enumerate(value):
            yield from _texts(part, (*location, index))


def check_folder(folder: Path) -> None:
    """Raises `FileFault` for a folder that cannot be copied as it is.

    A link has to lead to a place within the folder. Pipes, sockets and devices are rejected, and
    so is a folder with too many files or bytes.
    """
    size_bytes = 0
    for number, path in enumerate(_files(folder), start=1):
        state = path.lstat()
        size_bytes += state.st_size
        if stat.S_ISLNK(state.st_mode):
            if not _leads_within(path, folder):
                raise FileFault(
                    f"{path}: the link leads out of the server's folder",
                    "put a copy of the file into the folder",
                )
        elif not stat.S_ISREG(state.st_mode):
            raise FileFault(f"{path}: expected a file, a folder or a link", "remove it")
        if number > FILES_MAX or size_bytes > BYTES_MAX:
            raise FileFault(
                f"{folder}: the folder has more than {FILES_MAX:,} files or {BYTES_MAX >> 30} GiB",
                f"put generated files into one of {', '.join(IGNORED)}: builds leave them out",
            )


def hash_files(folder: Path) -> dict[str, str]:
    """File -> SHA-256 of its content, or of its target if it is a link."""
    return {str(path.relative_to(folder)): _digest(path) for path in sorted(_files(folder))}


def copy_folder(source: Path, target: Path) -> None:
    """Copy a checked folder to a new one. Links stay links. Raises `OSError`."""
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED))


def _files(folder: Path) -> Iterator[Path]:
    """Everything below the folder that is not a folder; a link to a folder is a link."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = [name for name in folders if name not in IGNORED and name not in links]
        yield from (Path(parent, name) for name in (*links, *files) if name not in IGNORED)


def _leads_within(link: Path, folder: Path) -> bool:
    if link.readlink().is_absolute():  # the copy would lead to the original
        return False
    try:
        return link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a loop
        return False


def _digest(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha256(f"link to {path.readlink()}".encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
