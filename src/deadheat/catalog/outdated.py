"""Pins that are behind, as the package manager of each ecosystem reports them.

Only direct dependencies count: a lock file follows them. A recipe may have pins too.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tomllib import loads

from deadheat.catalog.layers import layered, layered_names
from deadheat.catalog.server import Server
from deadheat.host import Host, HostError, ProcessSpec

TIMEOUT_S = 180.0
WORDS_MAX = 160  # characters of a client's last line
VERSIONS_PLUGIN = "org.codehaus.mojo:versions-maven-plugin:2.18.0:display-dependency-updates"
GO_TEMPLATE = (
    "{{if not (or .Main .Indirect)}}{{.Path}} {{.Version}}"
    "{{with .Update}} {{.Version}}{{end}}{{end}}"
)
PRE_RELEASE = re.compile(r"(?i)[-.](alpha|beta|dev|m|pre|rc|snapshot|cr|ea)[-.]?\d*")
HASHED_PIN = re.compile(r"^([\w.-]+==[^\s\\]+) \\", re.MULTILINE)  # in a lock of pip
PYTHON_VERSION = re.compile(r"--python-version (\S+)")  # in the first lines of a lock of uv
COMPILED = "compiled.in"  # Python packages that are compiled from source, beside requirements.in


@dataclass(frozen=True, slots=True)
class Pin:
    """A direct dependency, its version, and the newest one that the client offers.

    `declared_in` is a server, or a recipe as `recipes/NAME.toml`.
    """

    declared_in: str
    package: str
    pinned: str
    latest: str


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """How to ask one package manager. `files` are what it reads; `read` finds pins in its output.

    `read` gets the folder and the output, and yields (package, pinned, latest) also of packages
    that are not behind.
    """

    name: str
    files: tuple[str, ...]  # a server that has the first one belongs to this ecosystem
    command: tuple[str, ...]
    read: Callable[[Path, str], Iterator[tuple[str, str, str]]]
    exit_codes: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Declaration:
    """The direct dependencies of a server or a recipe, as texts of the files its client reads."""

    declared_in: str
    ecosystem: Ecosystem
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RegistryAnswer:
    """What one client said of one declaration. `fault`: why it did not answer."""

    declared_in: str
    ecosystem: str
    behind: tuple[Pin, ...]
    fault: str | None = None


def server_declaration(server: Server) -> Declaration | None:
    """What the server declares itself; None without a file that a client here reads."""
    for ecosystem in ECOSYSTEMS:
        if (server.folder / ecosystem.files[0]).exists():
            paths = [server.folder / name for name in (*ecosystem.files, COMPILED)]
            files = {path.name: path.read_text("utf-8") for path in paths if path.exists()}
            if COMPILED in files:
                files[ecosystem.files[0]] += files.pop(COMPILED)
            if ecosystem is PYTHON:
                ecosystem = _python_of(server)
            return Declaration(server.name, ecosystem, files)
    return None


def _python_of(server: Server) -> Ecosystem:
    """uv, for the version of Python that the server's lock file names."""
    lock = server.folder / "requirements.lock"
    named = PYTHON_VERSION.search(lock.read_text("utf-8") if lock.exists() else "")
    if named is None:
        return PYTHON
    return replace(PYTHON, command=_ask_uv(named.group(1)))


def recipe_declarations(root: Path, servers: Iterable[Server]) -> Iterator[Declaration]:
    """The pins in the recipes that the servers use, such as the JDK's; `root` is the catalog."""
    texts = {server.recipe_text for server in servers}
    for name in layered_names(root, "recipes"):
        path = layered(root, f"recipes/{name}.toml")
        recipe = path.read_text("utf-8")
        pins = HASHED_PIN.findall(recipe.replace("\\\\", "\\"))  # TOML's escape
        if pins and any(recipe in text for text in texts):
            files = {"requirements.in": "\n".join(pins) + "\n"}
            yield Declaration(f"recipes/{path.name}", PYTHON, files)


def ask(host: Host, declaration: Declaration, scratch: Path) -> RegistryAnswer:
    """Ask the client in a new folder below `scratch` that holds the declaration."""
    name, ecosystem = declaration.declared_in, declaration.ecosystem
    folder = scratch / name
    folder.mkdir(parents=True)
    for file, text in declaration.files.items():
        (folder / file).write_text(text, "utf-8")
    _complete(folder)
    env = {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    try:
        completed = host.run(ProcessSpec(ecosystem.command, str(folder), env), TIMEOUT_S)
    except HostError as error:
        return RegistryAnswer(name, ecosystem.name, (), str(error))
    if completed.exit_code not in ecosystem.exit_codes:
        return RegistryAnswer(
            name, ecosystem.name, (), _last_words(completed.stderr or completed.stdout)
        )
    try:
        pins = [
            Pin(name, *row) for row in ecosystem.read(folder, completed.stdout + completed.stderr)
        ]
    except (ValueError, KeyError, TypeError) as error:
        return RegistryAnswer(name, ecosystem.name, (), f"its output is not readable: {error!r}")
    return RegistryAnswer(name, ecosystem.name, tuple(pin for pin in pins if _is_behind(pin)))


def _is_behind(pin: Pin) -> bool:
    """Whether `latest` is newer: npm's tag `latest` may name an older version than the newest."""
    if PRE_RELEASE.search(pin.latest):
        return False
    pinned, latest = (re.findall(r"\d+", version) for version in (pin.pinned, pin.latest))
    return [int(number) for number in latest] > [int(number) for number in pinned]


def _complete(folder: Path) -> None:
    """Add what a client needs besides the declaration."""
    requirements = folder / "requirements.in"
    if requirements.exists():  # without the pins, uv resolves to the newest versions
        names = re.sub(r"==\S+", "", requirements.read_text("utf-8"))
        (folder / "unpinned.in").write_text(names, "utf-8")
    if (folder / "Cargo.toml").exists():
        (folder / "src").mkdir()
        (folder / "src" / "main.rs").write_text("", "utf-8")


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen = next((line for line in lines if re.search(r"(?i)error|refused|forbidden", line)), None)
    return (chosen or (lines[-1] if lines else "it printed nothing"))[:WORDS_MAX]


def _python(folder: Path, output: str) -> Iterator[tuple[str, str, str]]:
    latest = dict(re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", output, re.MULTILINE))
    text = (folder / "requirements.in").read_text("utf-8")
    for name, pinned in re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", text, re.MULTILINE):
        yield name, pinned, latest[name.lower()]


def _npm(_: Path, output: str) -> Iterator[tuple[str, str, str]]:
    start = output.find("{")
    rows = json.JSONDecoder().raw_decode(output[start:])[0] if start >= 0 else {}
    if "error" in rows and "code" in rows["error"]:  # its exit code is that of a pin behind
        raise ValueError(rows["error"].get("summary") or rows["error"]["code"])
    for name, row in rows.items():
        yield name, row["wanted"], row["latest"]


def _cargo(folder: Path, output: str) -> Iterator[tuple[str, str, str]]:
    dependencies = loads((folder / "Cargo.toml").read_text("utf-8"))["dependencies"]
    newer = re.findall(
        r"(?:Updating|Unchanged) (\S+) v(\S+)(?: -> v(\S+))?(?: \(available: v([^\s,)]+))?", output
    )
    for name, pinned, compatible, available in newer:
        if name in dependencies:
            yield name, pinned, available or compatible or pinned


def _go(_: Path, output: str) -> Iterator[tuple[str, str, str]]:
    for path, pinned, latest in re.findall(r"^(\S+) (v\S+)(?: (v\S+))?$", output, re.MULTILINE):
        yield path, pinned, latest or pinned


def _maven(_: Path, output: str) -> Iterator[tuple[str, str, str]]:
    lines = re.sub(r"^\[INFO\]", "", output, flags=re.MULTILINE)
    for name, pinned, latest in re.findall(r"(\S+:\S+) \.+\s+(\S+) -> (\S+)", lines):
        yield name.partition(":")[2], pinned, latest


def _mix(_: Path, output: str) -> Iterator[tuple[str, str, str]]:
    if "Dependency" not in output:
        raise ValueError(_last_words(output))
    yield from re.findall(r"^(\w+) +(\d\S+) +(\d\S+) ", output, re.MULTILINE)


def _ask_uv(python_version: str) -> tuple[str, ...]:
    quiet = ("--quiet", "--no-header", "--no-annotate", "--no-deps")
    return ("uv", "pip", "compile", *quiet, "--python-version", python_version, "unpinned.in")


PYTHON = Ecosystem("Python (uv)", ("requirements.in",), _ask_uv("3.11"), _python)
ECOSYSTEMS = (
    PYTHON,
    Ecosystem(
        "npm",
        ("package.json", "package-lock.json"),
        ("npm", "outdated", "--json", "--package-lock-only"),
        _npm,
        (0, 1),
    ),
    Ecosystem(
        "crates (cargo)",
        ("Cargo.toml", "Cargo.lock"),
        ("cargo", "update", "--dry-run", "--verbose", "--color", "never"),
        _cargo,
    ),
    Ecosystem(
        "Go", ("go.mod", "go.sum"), ("go", "list", "-m", "-u", "-f", GO_TEMPLATE, "all"), _go
    ),
    Ecosystem(
        "Maven",
        ("pom.xml",),
        ("mvn", "--batch-mode", VERSIONS_PLUGIN, "-DprocessDependencyManagement=false"),
        _maven,
    ),
    Ecosystem("Hex (mix)", ("mix.exs", "mix.lock"), ("mix", "hex.outdated"), _mix, (0, 1)),
)
