"""`Server`: a folder of `servers/`, with its manifest and its recipe."""

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from deadheat.catalog.folder import check_folder
from deadheat.catalog.manifest import Manifest, Need, Recipe, Setting, Start
from deadheat.catalog.placeholders import fill, fill_env, fill_text, unknown_placeholders
from deadheat.catalog.toml_lines import FileFault, file_fault, read_toml, read_toml_text

StartOrSetting = TypeVar("StartOrSetting", Start, Setting)

BUILD_TIMEOUT_S = 900.0


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

    @property
    def name(self) -> str:
        return self.manifest.name


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
        workers = self.server.start.workers
        if self.setting != "default":
            parts.append(self.setting)
            workers = self.server.manifest.settings[self.setting].workers or workers
        if self.start.workers != workers:
            parts.append(f"w{self.start.workers}")
        return ":".join(parts)

    @property
    def start_key(self) -> str:
        """A hash of how it is started: command, environment, signals."""
        return hashlib.sha256(self.start.model_dump_json().encode()).hexdigest()[:12]


def selection(server: Server, setting: str = "default", workers: int | None = None) -> Selection:
    """The server at a setting of its manifest; `workers` overrides those of the setting.

    Raises `FileFault` with the available settings, or if the server has no setting for workers.
    """
    start = server.start
    if setting != "default":
        if setting not in server.manifest.settings:
            known = ", ".join(["default", *server.manifest.settings])
            raise FileFault(
                f"{server.folder / 'server.toml'}: no setting {setting!r}", f"available: {known}"
            )
        chosen = server.manifest.settings[setting]
        changes = chosen.model_dump(exclude={"why", "env"}, exclude_none=True)
        start = start.model_copy(update={**changes, "env": {**start.env, **chosen.env}})
    if workers is not None and workers != start.workers:
        if start.worker == "none":
            raise FileFault(
                f"{server.name}: {workers} workers requested, but this server cannot start several "
                f'({server.folder / "server.toml"}: start.worker is "none")',
                "leave this server out, or omit --workers",
            )
        start = start.model_copy(update={"workers": workers})
    return Selection(server, setting, start)


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
        recipe, recipe_text = _recipe(path, manifest.recipe, recipes)
    values = _parameters(path, manifest, recipe)
    _reject_unknown_placeholders(path, manifest, values)
    _reject_unknown_placeholders(recipes / f"{manifest.recipe}.toml", recipe, values)
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


def _recipe(path: Path, name: str, recipes: Path) -> tuple[Recipe, str]:
    file = recipes / f"{name}.toml"
    if not file.is_file():
        near = difflib.get_close_matches(name, [p.stem for p in recipes.glob("*.toml")])
        hint = f"did you mean {' or '.join(near)}?" if near else f"the recipes are in {recipes}"
        raise file_fault(path, [(("recipe",), f"no file {file}")], hint)
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
