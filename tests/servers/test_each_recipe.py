"""One server of each recipe: built from its lock file, verified and loaded on this machine.

Servers whose tools are missing are skipped with the install command. `make verify-all` verifies
all servers.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Catalog, Selection, load_catalog, selection
from deadheat.measure.hosts import local_world
from deadheat.measure import inspection, lifecycle
from deadheat.measure.contender import contender_from
from deadheat.measure.inspection import inspect
from deadheat.measure.verify import verify
from deadheat.measure.world import World

ROOT = Path(__file__).resolve().parents[2]
FASTEST_BUILDS = {
    "apache": "apache-static",
    "asdf-program": "lisp-hunchentoot",
    "cargo": "rust-hyper",
    "erlc": "erlang-mochiweb",
    "go-module": "go-net-http",
    "maven-javac": "java-netty",
    "nginx": "nginx-static",
    "npm": "bun-serve",
    "npm-node": "node-koa",
    "python-compiled": "python-bjoern-bottle",
    "python-venv": "python-bottle",
    "ruby-debian": "ruby-puma",
}
# Whether a server builds is tested here, not how fast it or its compiler gets.
QUICK_BUILDS = {
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
NOT_TESTED = {
    "jdk": "maven-javac extends it",
    "maven-kotlinc": "the Kotlin compiler takes a minute",
    "maven-scalac": "the Scala compiler takes minutes",
    "mix": "its registry cannot be reached from the build machine",
    "nimble": "its registry cannot be reached from the build machine",
    "quicklisp": "its registry cannot be reached from the build machine",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEADHEAT_HOME", str(tmp_path_factory.mktemp("home")))
        for name, value in QUICK_BUILDS.items():
            patch.setenv(name, value)
        patch.setattr(inspection, "SERVE_S", 0.2)  # slow servers are retried for longer
        with local_world("engine", 1) as world:
            yield world


@pytest.fixture(scope="module")
def builder(world: World, shared_folder: Path) -> Builder:
    return Builder(world.server_host, shared_folder / "builds")


def built(builder: Builder, world: World, *selections: Selection) -> list[Candidate]:
    """Skips the test where the tools of a server are missing."""
    candidates = prepare(selections, world.server_host, builder, lambda _: None)
    for candidate in candidates:
        if candidate.lacks:
            pytest.skip(f"{candidate.fault}: {' && '.join(candidate.lacks)}")
    return candidates


def test_every_recipe_is_listed(catalog: Catalog) -> None:
    recipes = {path.stem for path in (ROOT / "recipes").glob("*.toml")}
    assert recipes == set(FASTEST_BUILDS) | set(NOT_TESTED)
    for recipe, name in FASTEST_BUILDS.items():
        assert catalog.servers[name].manifest.recipe == recipe


@pytest.mark.parametrize("recipe", FASTEST_BUILDS)
def test_server_of_recipe_builds_verifies_serves_and_stops(
    recipe: str, catalog: Catalog, builder: Builder, world: World
) -> None:
    (candidate,) = built(builder, world, selection(catalog.servers[FASTEST_BUILDS[recipe]]))
    inspected = inspect(world, candidate, [10, 100])
    assert inspected.fault is None
    assert inspected.cautions == ()
    assert inspected.served == {"10": 10, "100": 100}
    assert inspected.version


@pytest.mark.parametrize("name", ["apache-static", "h2o-static", "nginx-static", "php-fpm-nginx"])
def test_two_instances_of_one_build_run_together(
    name: str, catalog: Catalog, builder: Builder, world: World
) -> None:
    """Regression: they shared pid files, sockets and the file with the address."""
    two = [selection(catalog.servers[name], workers=workers) for workers in (1, 2)]
    contenders = [
        contender_from(candidate.selection, candidate.built)
        for candidate in built(builder, world, *two)
        if candidate.built
    ]
    with ExitStack() as stack:
        instances = []
        for contender in contenders:
            instances.append(lifecycle.start(world, contender))
            stack.callback(lifecycle.stop, world, instances[-1])
        behaviors = [
            verify(world.server_host, i.address, i.contender.media_type) for i in instances
        ]
        assert [behavior.fault for behavior in behaviors] == [None, None]
