"""One server of each recipe, built from its lock file, verified and loaded on this machine.

What this machine lacks is skipped with the command that installs it; `make verify-all` does them
all.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deadheat.measure import inspection, lifecycle
from deadheat.build.builder import Builder
from deadheat.measure.inspection import inspect
from deadheat.build.prepare import Candidate, prepare
from deadheat.measure.contender import contender_from
from deadheat.measure.verify import verify
from deadheat.measure.world import World
from deadheat.catalog import Catalog, Selection, selection, load_catalog
from deadheat.cli.workbench import local_world

ROOT = Path(__file__).resolve().parents[2]
QUICKEST = {
    "apache": "apache-static",
    "asdf-program": "lisp-hunchentoot",
    "cargo": "rust-hyper",
    "erlc": "erlang-mochiweb",
    "go-module": "go-net-http",
    "maven-javac": "java-netty",
    "nginx": "nginx-static",
    "npm": "node-koa",
    "python-compiled": "python-bjoern-bottle",
    "python-venv": "python-bottle",
    "ruby-debian": "ruby-puma",
}
LEFT_OUT = {
    "maven-scalac": "the Scala compiler takes a minute or two",
    "mix": "its registry cannot be reached from where this is built",
    "nimble": "its registry cannot be reached from where this is built",
    "quicklisp": "its registry cannot be reached from where this is built",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEADHEAT_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(inspection, "SERVE_S", 0.2)  # who needs longer is asked again patiently
        with local_world("engine", 1) as world:
            yield world


def built(world: World, folder: Path, *selections: Selection) -> list[Candidate]:
    builder = Builder(world.server_host, folder)
    candidates = prepare(selections, world.server_host, builder, lambda _: None)
    for one in candidates:
        if one.lacks:
            pytest.skip(f"{one.fault}: {' && '.join(one.lacks)}")
    return candidates


def test_every_recipe_is_known_here(catalog: Catalog) -> None:
    recipes = {path.stem for path in (ROOT / "recipes").glob("*.toml")}
    assert recipes == set(QUICKEST) | set(LEFT_OUT)
    for recipe, name in QUICKEST.items():
        assert catalog.servers[name].manifest.recipe == recipe


@pytest.mark.parametrize("recipe", QUICKEST)
def test_a_server_of_it_builds_verifies_serves_and_stops(
    recipe: str, catalog: Catalog, world: World, tmp_path: Path
) -> None:
    (candidate,) = built(world, tmp_path, selection(catalog.servers[QUICKEST[recipe]]))
    found = inspect(world, candidate, [10, 100])
    assert found.fault is None
    assert found.cautions == ()
    assert found.served == {"10": 10, "100": 100}
    assert found.version


@pytest.mark.parametrize("name", ["apache-static", "h2o-static", "nginx-static", "php-fpm-nginx"])
def test_two_of_one_build_run_at_once(
    name: str, catalog: Catalog, world: World, tmp_path: Path
) -> None:
    """They shared pid files, sockets and the file that says where to listen."""
    two = [selection(catalog.servers[name], workers=workers) for workers in (1, 2)]
    contenders = [
        contender_from(one.selection, one.built)
        for one in built(world, tmp_path, *two)
        if one.built
    ]
    with ExitStack() as stack:
        up = []
        for contender in contenders:
            up.append(lifecycle.start(world, contender))
            stack.callback(lifecycle.stop, world, up[-1])
        answers = [verify(world.server_host, one.address, one.contender.media_type) for one in up]
        assert [answer.fault for answer in answers] == [None, None]
