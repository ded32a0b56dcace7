import re

import pytest

from deadheat.catalog import FileFault, Selection, Server, load_server, selection
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


def faults_of(folders: Folders, text: str) -> list[str]:
    """The faults of a manifest, without the path of its file."""
    return re.sub(r"(?m)^\S*/server\.toml:", "", str(fault_of(folders, text))).splitlines()


def test_fills_recipe_with_defaults_and_values_of_the_manifest(folders: Folders) -> None:
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
    assert server.build_timeout_s == 60  # the recipe's, because the manifest has none
    assert server.start.env == {"MODE": "production", "SHARED": "manifest 3"}
    assert server.manifest.version.command == ("maker", "{build}/server")
    fast = selection(server, "fast").start
    assert fast.command == ("maker", "{port}")
    assert fast.env == {"MODE": "production", "SHARED": "manifest 3", "SPEED": "3"}


def test_a_name_has_the_setting_and_changed_workers(folders: Folders) -> None:
    """Regression: `--setting four --workers 1,2` gave two contenders named `plain:four`."""
    server = load(folders, MANIFEST + '[settings.four]\nwhy = "as published"\nworkers = 4\n')
    names = [selection(server, workers=workers).name for workers in (None, 1, 2)]
    assert names == ["plain", "plain", "plain:w2"]
    assert selection(server, "four").start.workers == 4
    names = [selection(server, "four", workers).name for workers in (1, 2, 4)]
    assert names == ["plain:four:w1", "plain:four:w2", "plain:four"]


def test_http2_over_tls_begins_with_what_https_changes(folders: Folders) -> None:
    text = (
        '[transports.https]\nworkers = 2\nenv = { CERT = "{cert}" }\n[transports.h2]\nbacklog = 9\n'
    )
    server = load(folders, MANIFEST + text + '[transports.h2c]\nenv = { H2 = "yes" }\n')
    secured, both, plain = (selection(server, name) for name in ("https", "h2", "h2c"))
    assert both.name == "plain:h2"
    assert (both.start.workers, both.start.backlog) == (2, 9)
    assert both.start.env == secured.start.env == {**server.start.env, "CERT": "{cert}"}
    assert plain.start == server.start.model_copy(update={"env": {**server.start.env, "H2": "yes"}})


def test_unknown_setting_lists_the_available_ones(folders: Folders) -> None:
    with pytest.raises(FileFault, match="no setting 'fast'") as caught:
        selection(load(folders), "fast")
    assert caught.value.hint == "available: default, multicore"


def test_reports_all_faults_with_their_lines(folders: Folders) -> None:
    text = MANIFEST.replace('kind = "server"', 'kind = "huge"\ncolor = "red"')
    text = text.replace("keep_alive = true", 'keep_alive = "yes"\nstop_signal = "SIGNORE"')
    text = text.replace('backlog = "system"', 'backlog = "long"')
    assert faults_of(folders, text) == [
        "4: kind: expected 'server', 'micro', 'full-stack' or 'static'",
        "5: color: unknown key",
        "14: start.keep_alive: expected a valid boolean",
        "15: start.stop_signal: expected a signal's name, such as SIGTERM",
        "17: start.backlog: expected a valid integer, or expected 'system'",
    ]


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('"plain"', '"other"', "1: name: expected the name of the folder, 'plain'"),
        ('"process"', '"goroutine"', "12: start.worker: expected 'process', 'thread' or 'none'"),
        ('["go", "version"]', '"go version"', "8: version.command: expected an array"),
        ("[version]", '[version]\npattern = "v"', "8: version.pattern: expected a regular "
         "expression with one group, for the version"),
        ('"https://example.org"', '"example.org"', "5: homepage: expected to match pattern "
         "'^https?://'"),
        ('kind = "server"\n', "", "1: kind: missing"),
    ],
)  # fmt: skip
def test_fault_names_its_line(folders: Folders, before: str, after: str, fault: str) -> None:
    assert faults_of(folders, MANIFEST.replace(before, after)) == [fault]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ('[[published]]\nprotocol = "woo-2016"\nrow = "Go"\nsetting = "four"\n',
         "published row 'Go' names setting 'four', but the manifest has none"),
        ('[settings.default]\nwhy = "x"\n', "settings.default is reserved for [start]"),
        ('[settings.h2]\nwhy = "x"\n', "settings.h2: expected it as [transports.h2]"),
        ("[transports.http]\n", "transports.http is [start]: expected https, h2 or h2c"),
    ],
)  # fmt: skip
def test_rejects_a_setting_that_cannot_be(folders: Folders, lines: str, fault: str) -> None:
    assert fault in str(faults_of(folders, MANIFEST + lines))


def test_unknown_recipe_suggests_the_nearest(folders: Folders) -> None:
    folders.recipe(RECIPE)
    fault = fault_of(folders, 'recipe = "familly"\n' + MANIFEST)
    assert f"server.toml:1: recipe: no file {folders.recipes / 'familly.toml'}" in str(fault)
    assert fault.hint == "did you mean family?"


def test_fault_in_a_recipe_names_its_file(folders: Folders) -> None:
    folders.recipe(RECIPE.replace("timeout_s = 60", "timeout_s = -1"))
    assert f"{folders.recipes / 'family.toml'}:16: build.timeout_s: " in str(
        fault_of(folders, 'recipe = "family"\n' + MANIFEST)
    )


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ('recipe = "family"\nwith = { size = "1", tool = "x" }\n',
         "2: with.size: recipe 'family' takes tool, level"),
        ('with = { size = "1" }\n', "1: with.size: needs a recipe that takes it"),
    ],
)  # fmt: skip
def test_rejects_a_parameter_that_no_recipe_takes(folders: Folders, lines: str, fault: str) -> None:
    folders.recipe(RECIPE)
    assert faults_of(folders, lines + MANIFEST) == [fault]


def test_rejects_unknown_placeholders_in_all_tables(folders: Folders) -> None:
    """Regression: only the start command was checked."""
    text = MANIFEST.replace("{host}", "{hostname}").replace('"version"]', '"{biuld}"]')
    text += 'env = { PORT = "{prot}" }\n'
    text += '[build]\nsteps = [["make"], ["make", "{port}"]]\nenv = { J = "{jobs}" }\n'
    text += '[settings.fast]\nwhy = "any {word} of prose"\ncommand = ["{bild}"]\n'
    all_names = "{build}, {host}, {port}, {threads}, {workers}"
    assert faults_of(folders, text) == [
        "8: version.command.1: unknown placeholder {biuld}; available: {build}",
        f"11: start.command.1: unknown placeholder {{hostname}}; available: {all_names}",
        f"16: start.env.PORT: unknown placeholder {{prot}}; available: {all_names}",
        "18: build.steps.1.1: unknown placeholder {port}; available: {build}",
        "19: build.env.J: unknown placeholder {jobs}; available: {build}",
        f"22: settings.fast.command.0: unknown placeholder {{bild}}; available: {all_names}",
    ]


def test_unknown_placeholder_in_a_recipe_names_its_file(folders: Folders) -> None:
    folders.recipe(RECIPE.replace("-O{level}", "-O{lever}"))
    fault = str(fault_of(folders, 'recipe = "family"\n' + MANIFEST))
    assert "family.toml:14: build.steps.0.1: unknown placeholder {lever}; available:" in fault
    assert "{build}, {level}, {tool}" in fault


def test_keeps_braces_of_other_languages(folders: Folders) -> None:
    code = "[build]\nsteps = [['sh', '-c', 'awk \"{print $1}\" ${HOME} ${x} { a } {}']]\n"
    assert load(folders, MANIFEST + code).steps[0][2].endswith("{ a } {}")


BASE = """\
about = "What runs the family."

[runtime]
name = "VM"
command = ["{build}/vm", "--version"]

[parameters]
tool = "base"

[[needs]]
tool = "vm"
probe = ["vm", "--version"]
install = "get vm"

[build]
steps = [["fetch", "vm"]]
env = { LEVEL = "base", QUIET = "1" }

[env]
MODE = "base"
HEAP = "1"
"""


def test_an_extended_recipe_comes_first_and_the_recipe_wins(folders: Folders) -> None:
    folders.recipe(BASE, "base")
    folders.recipe(RECIPE.replace('family."\n', 'family."\nextends = "base"\n'))
    server = load(folders, 'recipe = "family"\n' + MANIFEST)
    assert [need.tool for need in server.needs] == ["vm", "maker"]
    assert server.steps == (("fetch", "vm"), ("maker", "-O2", "-o", "{build}/server"))
    assert server.build_env == {"LEVEL": "2", "QUIET": "1"}
    assert server.start.env == {"MODE": "production", "HEAP": "1", "SHARED": "recipe"}
    assert server.runtime is not None
    assert server.runtime.command == ("{build}/vm", "--version")
    assert "What runs the family" in server.recipe_text  # so that a change builds anew


def test_rejects_a_chain_of_extended_recipes(folders: Folders) -> None:
    folders.recipe(BASE, "base")
    folders.recipe('about = "b"\nextends = "base"\n', "middle")
    folders.recipe('about = "c"\nextends = "middle"\n')
    fault = str(fault_of(folders, 'recipe = "family"\n' + MANIFEST))
    assert "family.toml:2: extends: recipe 'middle' extends another one itself" in fault


def test_unknown_placeholder_in_an_extended_recipe_names_its_file(folders: Folders) -> None:
    folders.recipe(BASE.replace('"fetch"', '"{fetcher}"'), "base")
    folders.recipe('about = "b"\nextends = "base"\n')
    fault = str(fault_of(folders, 'recipe = "family"\n' + MANIFEST))
    assert "base.toml:16: build.steps.0.0: unknown placeholder {fetcher}" in fault


def multicore(folders: Folders, text: str, name: str, workers: int | None = None) -> Selection:
    return selection(load(folders, text.replace("plain", name), name), "multicore", workers)


def test_multicore_means_four_workers_unless_the_manifest_says_otherwise(folders: Folders) -> None:
    assert multicore(folders, MANIFEST, "four").start.workers == 4
    many = MANIFEST.replace('"process"', '"thread"\nworkers = 200')
    assert multicore(folders, many, "many").start.workers == 200
    two = MANIFEST + '[settings.multicore]\nwhy = "two"\nworkers = 2\n'
    assert multicore(folders, two, "two").start.workers == 2
    assert multicore(folders, MANIFEST, "more", 8).name == "more:multicore:w8"


def test_a_server_without_workers_has_neither_multicore_nor_more_of_them(folders: Folders) -> None:
    """Regression: `--workers 4` named the result `plain:w4`, but nothing had changed."""
    server = load(folders, MANIFEST.replace('"process"', '"none"'))
    assert selection(server, workers=1).name == "plain"
    for setting, workers in (("default", 4), ("multicore", None)):
        with pytest.raises(FileFault, match="cannot start several workers") as caught:
            selection(server, setting, workers)
        assert caught.value.hint == "leave this server out, or omit --workers and --setting"
