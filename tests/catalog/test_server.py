import re

import pytest

from deadheat.catalog import FileFault, Server, load_server, selection
from tests.catalog.conftest import MANIFEST, Folders

RECIPE = """\
about = "A family."

[parameters]
tool = "maker"
level = "2"

[[needs]]
tool = "{tool}"
probe = ["{tool}", "--version"]
minimum = "{level}"
install = "get {tool}"

[build]
steps = [["{tool}", "-O{level}", "-o", "{build}/server"]]
env = { LEVEL = "{level}" }
timeout_s = 60

[env]
MODE = "production"
SHARED = "recipe"
"""


def load(folders: Folders, text: str = MANIFEST, name: str = "plain") -> Server:
    return load_server(folders.server(text, name), folders.recipes)


def fault_of(folders: Folders, text: str) -> FileFault:
    with pytest.raises(FileFault) as caught:
        load(folders, text)
    return caught.value


def told(folders: Folders, text: str) -> list[str]:
    """The faults of a manifest, without the place of its file."""
    return re.sub(r"(?m)^\S*/server\.toml:", "", str(fault_of(folders, text))).splitlines()


def test_a_plain_manifest(folders: Folders) -> None:
    server = load(folders)
    assert server.name == "plain"
    assert server.start.command == ("{build}/server", "{host}:{port}")
    assert (server.needs, server.steps, server.build_env) == ((), (), {})


def test_a_recipe_is_filled_with_its_defaults_and_the_manifests_values(folders: Folders) -> None:
    folders.recipe(RECIPE)
    server = load(
        folders,
        'recipe = "family"\nwith = { level = "3" }\n'
        + MANIFEST.replace('["go", "version"]', '["{tool}", "{build}/server"]')
        + 'env = { SHARED = "manifest {level}" }\n'
        + '[settings.fast]\nwhy = "faster"\ncommand = ["{tool}", "{port}"]\n'
        + 'env = { SPEED = "{level}" }\n',
    )
    assert server.needs[0].probe == ("maker", "--version")
    assert (server.needs[0].minimum, server.needs[0].install) == ("3", "get maker")
    assert server.steps == (("maker", "-O3", "-o", "{build}/server"),)
    assert server.build_env == {"LEVEL": "3"}
    assert server.build_timeout_s == 60  # the recipe's, where the manifest has none
    assert server.start.env == {"MODE": "production", "SHARED": "manifest 3"}
    assert server.manifest.version.command == ("maker", "{build}/server")
    fast = selection(server, "fast").start
    assert fast.command == ("maker", "{port}")
    assert fast.env == {"MODE": "production", "SHARED": "manifest 3", "SPEED": "3"}


def test_a_contender_is_named_by_what_sets_it_apart(folders: Folders) -> None:
    server = load(folders, MANIFEST + '[settings.four]\nwhy = "as published"\nworkers = 4\n')
    assert selection(server).name == "plain"
    assert selection(server, workers=1).name == "plain"
    assert selection(server, workers=2).name == "plain:w2"
    assert selection(server, "four").name == "plain:four"
    assert selection(server, "four").start.workers == 4


def test_contenders_of_one_run_never_share_a_name(folders: Folders) -> None:
    """Regression: `--setting four --workers 1,2` gave two contenders named `plain:four`."""
    server = load(folders, MANIFEST + '[settings.four]\nwhy = "as published"\nworkers = 4\n')
    names = [selection(server, "four", workers).name for workers in (1, 2, 4)]
    assert names == ["plain:four:w1", "plain:four:w2", "plain:four"]


def test_an_unknown_setting_names_those_there_are(folders: Folders) -> None:
    with pytest.raises(FileFault, match="no setting 'fast'") as caught:
        selection(load(folders), "fast")
    assert caught.value.hint == "it has default"


def test_several_faults_come_at_once_each_with_its_line(folders: Folders) -> None:
    text = MANIFEST.replace('kind = "server"', 'kind = "huge"\ncolour = "red"')
    text = text.replace("keep_alive = true", 'keep_alive = "yes"\nstop_signal = "SIGNORE"')
    text = text.replace('backlog = "system"', 'backlog = "long"')
    assert told(folders, text) == [
        "4: kind: expected 'server', 'micro', 'full-stack' or 'static'",
        "5: colour: unknown key",
        "14: start.keep_alive: expected a valid boolean",
        "15: start.stop_signal: expected a signal's name, such as SIGTERM",
        "17: start.backlog: expected a valid integer, or expected 'system'",
    ]


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('"plain"', '"other"', "1: name: expected the folder's, 'plain'"),
        ('"none"', '"goroutine"', "12: start.worker: expected 'process', 'thread' or 'none'"),
        ('["go", "version"]', '"go version"', "8: version.command: expected an array"),
        ("[version]", '[version]\npattern = "v"', "8: version.pattern: expected a regular "
         "expression with one group, which is the version"),
        ('"https://example.org"', '"example.org"', "5: homepage: expected to match pattern "
         "'^https?://'"),
        ('kind = "server"\n', "", "1: kind: missing"),
    ],
)  # fmt: skip
def test_a_fault(folders: Folders, before: str, after: str, fault: str) -> None:
    assert told(folders, MANIFEST.replace(before, after)) == [fault]


def test_a_published_row_needs_its_setting(folders: Folders) -> None:
    row = '[[published]]\nprotocol = "woo-2016"\nrow = "Go"\nsetting = "four"\n'
    (fault,) = told(folders, MANIFEST + row)
    assert "published row 'Go' names setting 'four', but the manifest has none" in fault


def test_a_setting_cannot_be_named_default(folders: Folders) -> None:
    (fault,) = told(folders, MANIFEST + '[settings.default]\nwhy = "x"\n')
    assert "settings.default is what [start] says" in fault


def test_a_recipe_that_is_not_there_is_told_with_the_nearest(folders: Folders) -> None:
    folders.recipe(RECIPE)
    fault = fault_of(folders, 'recipe = "familly"\n' + MANIFEST)
    assert f"server.toml:1: recipe: no file {folders.recipes / 'familly.toml'}" in str(fault)
    assert fault.hint == "did you mean family?"


def test_a_fault_in_a_recipe_names_the_recipe(folders: Folders) -> None:
    folders.recipe(RECIPE.replace("timeout_s = 60", "timeout_s = -1"))
    assert f"{folders.recipes / 'family.toml'}:16: build.timeout_s: " in str(
        fault_of(folders, 'recipe = "family"\n' + MANIFEST)
    )


def test_a_value_that_no_recipe_takes(folders: Folders) -> None:
    folders.recipe(RECIPE)
    given = 'with = { size = "1", tool = "x" }\n'
    assert told(folders, 'recipe = "family"\n' + given + MANIFEST) == [
        "2: with.size: recipe 'family' takes tool, level"
    ]


def test_a_value_without_a_recipe(folders: Folders) -> None:
    assert told(folders, 'with = { size = "1" }\n' + MANIFEST) == [
        "1: with.size: without a recipe there is nothing that takes it"
    ]


def test_every_unknown_placeholder_is_found_wherever_it_stands(folders: Folders) -> None:
    """Regression: only those of the start command were looked for."""
    text = MANIFEST.replace("{host}", "{hostname}").replace('"version"]', '"{biuld}"]')
    text += 'env = { PORT = "{prot}" }\n'
    text += '[build]\nsteps = [["make"], ["make", "{port}"]]\nenv = { J = "{jobs}" }\n'
    text += '[settings.fast]\nwhy = "any {word} of prose"\ncommand = ["{bild}"]\n'
    every = "{build}, {host}, {port}, {threads}, {workers}"
    assert told(folders, text) == [
        "8: version.command.1: unknown placeholder {biuld}; known here: {build}",
        f"11: start.command.1: unknown placeholder {{hostname}}; known here: {every}",
        f"16: start.env.PORT: unknown placeholder {{prot}}; known here: {every}",
        "18: build.steps.1.1: unknown placeholder {port}; known here: {build}",
        "19: build.env.J: unknown placeholder {jobs}; known here: {build}",
        f"22: settings.fast.command.0: unknown placeholder {{bild}}; known here: {every}",
    ]


def test_an_unknown_placeholder_in_a_recipe_names_the_recipe(folders: Folders) -> None:
    folders.recipe(RECIPE.replace("-O{level}", "-O{lever}"))
    fault = str(fault_of(folders, 'recipe = "family"\n' + MANIFEST))
    assert "family.toml:14: build.steps.0.1: unknown placeholder {lever}; known here:" in fault
    assert "{build}, {level}, {tool}" in fault


def test_braces_of_other_languages_are_left_alone(folders: Folders) -> None:
    code = "[build]\nsteps = [['sh', '-c', 'awk \"{print $1}\" ${HOME} ${x} { a } {}']]\n"
    assert load(folders, MANIFEST + code).steps[0][2].endswith("{ a } {}")
