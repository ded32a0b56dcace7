"""`Server`: a folder of `servers/`, with its manifest and its recipe."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from deadheat.catalog.folder import check_folder, hash_files
from deadheat.catalog.manifest import Build, Manifest, Need, Recipe, Runtime, Setting, Start
from deadheat.catalog.placeholders import fill, fill_env, fill_text, unknown_placeholders
from deadheat.catalog.toml_lines import FileFault, file_fault, read_toml, read_toml_text

StartOrSetting = TypeVar("StartOrSetting", Start, Setting)

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
    start: Start
    recipe_text: str
    runtime: Runtime | None = None

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
    start: Start

    @property
    def name(self) -> str:
        """The server's name, its setting, and its workers if they differ from the setting's."""
        parts = [self.server.name]
        if self.setting != "default":
            parts.append(self.setting)
        if self.start.workers != _setting_start(self.server, self.setting).workers:
            parts.append(f"w{self.start.workers}")
        return ":".join(parts)

    @property
    def source_key(self) -> str:
        """A hash of all that decides how it behaves, but for the toolchain: how it is built and
        started, and the workloads that it has to answer."""
        files = hash_files(self.server.folder)
        inputs = {
            "files": {name: digest for name, digest in files.items() if name != "server.toml"},
            "steps": self.server.steps,
            "env": dict(self.server.build_env),
            "start": self.start.model_dump(mode="json"),
            "workloads": sorted(self.server.manifest.workloads),
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


def _setting_start(server: Server, setting: str) -> Start:
    start, settings = server.start, server.manifest.settings
    if setting == "default":
        return start
    if setting in settings:
        chosen = settings[setting]
        changes = chosen.model_dump(exclude={"why", "env"}, exclude_none=True)
        return start.model_copy(update={**changes, "env": {**start.env, **chosen.env}})
    if setting != MULTICORE:
        raise FileFault(
            f"{server.folder / 'server.toml'}: no setting {setting!r}",
            f"available: {', '.join(server.settings)}",
        )
    if start.worker == "none":
        raise _without_workers(server, f"setting {MULTICORE!r} requested")
    return start.model_copy(update={"workers": max(start.workers, MULTICORE_WORKERS)})


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
        runtime=recipe.runtime and _fill_runtime(recipe.runtime, values),
    )


def _filled(manifest: Manifest, values: Mapping[str, str]) -> Manifest:
    """The manifest with parameters filled into all of its commands and environments."""
    version_command = fill(manifest.version.command, values)
    return manifest.model_copy(
        update={
            "version": manifest.version.model_copy(update={"command": version_command}),
            "start": _fill_start(manifest.start, values),
            "settings": {n: _fill_start(s, values) for n, s in manifest.settings.items()},
        }
    )


def _fill_start(start: StartOrSetting, values: Mapping[str, str]) -> StartOrSetting:
    command = start.command and fill(start.command, values)
    return start.model_copy(update={"command": command, "env": fill_env(start.env, values)})


def _fill_need(need: Need, values: Mapping[str, str]) -> Need:
    filled = {"probe": fill(need.probe, values), "install": fill_text(need.install, values)}
    for key in ("tool", "minimum", "below"):
        if (text := getattr(need, key)) is not None:
            filled[key] = fill_text(text, values)
    return need.model_copy(update=filled)


def _fill_runtime(runtime: Runtime, values: Mapping[str, str]) -> Runtime:
    return runtime.model_copy(update={"command": fill(runtime.command, values)})


def _recipe(path: Path, manifest: Manifest, recipes: Path) -> tuple[Recipe, str]:
    """The manifest's recipe, merged with the one that it extends; and the text of both."""
    assert manifest.recipe is not None
    recipe, text = _recipe_file(path, manifest.recipe, recipes)
    chain = [(recipes / f"{manifest.recipe}.toml", recipe)]
    if recipe.extends is not None:
        base, base_text = _recipe_file(chain[0][0], recipe.extends, recipes, key="extends")
        if base.extends is not None:
            reason = f"recipe {recipe.extends!r} extends another one itself"
            raise file_fault(chain[0][0], [(("extends",), reason)])
        chain.append((recipes / f"{recipe.extends}.toml", base))
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
        build=Build(
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
    file = recipes / f"{name}.toml"
    if not file.is_file():
        near = difflib.get_close_matches(name, [p.stem for p in recipes.glob("*.toml")])
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
    if faults := list(unknown_placeholders(document, values)):
        raise file_fault(path, faults)
