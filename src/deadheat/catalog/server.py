"""`Server`: one folder of `servers/`, its manifest joined with its recipe."""

import difflib
import string
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.catalog.manifest import PLACEHOLDERS, Manifest, Need, Recipe, Start
from deadheat.catalog.toml_lines import FileFault, key_lines, line_of, read_toml


@dataclass(frozen=True, slots=True)
class Server:
    """A manifest with its recipe filled in: all that is needed to build and start it."""

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
class Contender:
    """A server at one setting: what is measured."""

    server: Server
    setting: str
    start: Start

    @property
    def name(self) -> str:
        """The server's name, with what sets this contender apart from its default."""
        default = self.server.start
        parts = [self.server.name]
        if self.setting != "default":
            parts.append(self.setting)
        if self.setting == "default" and self.start.workers != default.workers:
            parts.append(f"w{self.start.workers}")
        return ":".join(parts)


def contender(server: Server, setting: str = "default", workers: int | None = None) -> Contender:
    """The server at a named setting of its manifest, with `workers` in place of its own if given.

    Raises `FileFault` naming the settings there are.
    """
    start = server.start
    if setting != "default":
        if setting not in server.manifest.settings:
            known = ["default", *server.manifest.settings]
            raise FileFault(
                f"{server.folder / 'server.toml'}: no setting {setting!r}", f"it has {known}"
            )
        chosen = server.manifest.settings[setting]
        changes = chosen.model_dump(exclude={"why", "env"}, exclude_none=True)
        start = start.model_copy(update={**changes, "env": {**start.env, **chosen.env}})
    if workers is not None:
        start = start.model_copy(update={"workers": workers})
    return Contender(server, setting, start)


def load_server(folder: Path, recipes: Path) -> Server:
    """Read a folder's manifest and join it with its recipe.

    Raises `FileFault` with file and line for every fault found.
    """
    path = folder / "server.toml"
    manifest = read_toml(path, Manifest)
    if manifest.name != folder.name:
        raise FileFault(
            f"{path}:{_line(path, 'name')}: name: expected the folder's, {folder.name!r}"
        )
    recipe, recipe_text = Recipe(about="none"), ""
    if manifest.recipe is not None:
        recipe, recipe_text = _recipe(path, manifest.recipe, recipes)
    values = _parameters(path, manifest, recipe)
    server = Server(
        folder=folder,
        manifest=manifest,
        needs=tuple(_fill_need(need, values) for need in (*recipe.needs, *manifest.needs)),
        steps=tuple(fill(step, values) for step in (*recipe.build.steps, *manifest.build.steps)),
        build_env=fill_env({**recipe.build.env, **manifest.build.env}, values),
        build_timeout_s=max(recipe.build.timeout_s, manifest.build.timeout_s),
        start=manifest.start.model_copy(update={"env": {**recipe.env, **manifest.start.env}}),
        recipe_text=recipe_text,
    )
    _check_placeholders(path, server, values)
    return replace(
        server,
        start=server.start.model_copy(
            update={
                "command": fill(server.start.command, values),
                "env": fill_env(server.start.env, values),
            }
        ),
    )


def fill(command: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Put values in the place of `{name}`; names without a value stay as they are."""
    return tuple(_fill_text(part, values) for part in command)


def fill_env(env: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """`fill` for the values of an environment."""
    return {name: _fill_text(text, values) for name, text in env.items()}


def _fill_text(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _fill_need(need: Need, values: Mapping[str, str]) -> Need:
    filled = {"probe": fill(need.probe, values), "install": _fill_text(need.install, values)}
    for key in ("tool", "minimum", "below"):
        if (text := getattr(need, key)) is not None:
            filled[key] = _fill_text(text, values)
    return need.model_copy(update=filled)


def _recipe(path: Path, name: str, recipes: Path) -> tuple[Recipe, str]:
    file = recipes / f"{name}.toml"
    if not file.is_file():
        near = difflib.get_close_matches(name, [p.stem for p in recipes.glob("*.toml")])
        hint = f"did you mean {', '.join(near)}?" if near else f"the recipes are in {recipes}"
        raise FileFault(f"{path}:{_line(path, 'recipe')}: recipe: no file {file}", hint)
    return read_toml(file, Recipe), file.read_text(encoding="utf-8")


def _parameters(path: Path, manifest: Manifest, recipe: Recipe) -> dict[str, str]:
    unknown = sorted(set(manifest.parameters) - set(recipe.parameters))
    if unknown:
        raise FileFault(
            f"{path}:{_line(path, 'with', unknown[0])}: with.{unknown[0]}: "
            f"recipe {manifest.recipe!r} takes {sorted(recipe.parameters) or 'no parameters'}"
        )
    return {**recipe.parameters, **manifest.parameters}


def _check_placeholders(path: Path, server: Server, values: Mapping[str, str]) -> None:
    """A `{word}` that nothing fills is a typing error, found before anything starts."""
    known = {*PLACEHOLDERS, *values}
    for part in server.start.command:
        for name in _placeholders(part):
            if name not in known:
                raise FileFault(
                    f"{path}:{_line(path, 'start', 'command')}: start.command: "
                    f"unknown placeholder {{{name}}}",
                    f"known: {', '.join('{' + k + '}' for k in sorted(known))}",
                )


def _placeholders(text: str) -> list[str]:
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(text)]
    except ValueError:
        return []
    return [name for name in fields if name is not None and name.isidentifier()]


def _line(path: Path, *location: str) -> int:
    return line_of(key_lines(path.read_text(encoding="utf-8")), location)
