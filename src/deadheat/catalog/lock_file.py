"""The lock files of a server's folder: does each package that its build downloads have a hash?"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tomllib import TOMLDecodeError, loads

from deadheat.catalog.server import Server

# Programs that download packages. With none of them in its steps, a build needs no lock file.
DOWNLOADERS = re.compile(
    r"\b(pip|npm|npx|yarn|pnpm|curl|wget|git|gem|bundle|cargo|go|mvn|mix|nimble|quicklisp|composer)\b"
)
HASH = re.compile(r"[0-9a-f]{64}")
COMMIT = re.compile(r"#[0-9a-f]{40}$")
PACKAGES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Locked:
    """`packages` is how many packages a lock file names, `unhashed` those without a hash."""

    packages: int
    unhashed: tuple[str, ...]


class LockFault(ValueError):
    """A lock file is missing or cannot be read."""


def check_locks(server: Server) -> str:
    """What the lock files hold, in words. Raises `LockFault` if a package is not locked."""
    if readings := [_reading(lock, locked) for lock, locked in _locked(server.folder)]:
        return "; ".join(readings)
    words = " ".join(word for step in server.steps for word in step)
    if re.search(r"--hash=sha256:[0-9a-f]{64}", words):
        return "none needed: the build's steps hold the hash of what they download"
    if "quicklisp" in words:
        raise LockFault(_without_hash("Quicklisp", _systems(server.folder)))
    if (downloader := DOWNLOADERS.search(words)) is not None:
        raise LockFault(f"no lock file, and the build runs `{downloader.group()}`")
    return "none needed: the build downloads nothing"


def locked_packages(server: Server) -> int | None:
    """How many packages the lock files of a server name in all; None if one cannot be read."""
    try:
        return sum(locked.packages for _, locked in _locked(server.folder))
    except LockFault:
        return None


def _locked(folder: Path) -> Iterator[tuple[str, Locked]]:
    """Each lock file with what it holds."""
    nimble = [(path.name, path.name, _nimble) for path in sorted(folder.glob("*.nimble"))]
    for declaration, lock, read in (*LOCKS, *nimble):
        if any((folder / name).exists() for name in (declaration, lock)):
            yield lock, _read(folder, lock, read)


def _read(folder: Path, lock: str, read: Callable[[Path, str], Locked]) -> Locked:
    try:
        path = folder / lock
        without_packages = lock == "go.sum" and not path.exists()  # `go mod tidy` writes none
        return read(folder, "" if without_packages else path.read_text("utf-8"))
    except OSError as error:
        raise LockFault(f"{lock}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LockFault(f"{lock}: not readable: {error!r}") from error


def _reading(lock: str, locked: Locked) -> str:
    if locked.unhashed:
        raise LockFault(_without_hash(lock, locked.unhashed))
    if locked.packages == 1:
        return f"{lock}: 1 package, with a hash"
    return f"{lock}: {locked.packages} packages, each with a hash"


def _without_hash(lock: str, packages: Sequence[str]) -> str:
    shown = ", ".join(packages[:PACKAGES_SHOWN])
    more = len(packages) - PACKAGES_SHOWN
    return f"{lock}: no hash for {shown}" + (f" and {more} more" if more > 0 else "")


def _systems(folder: Path) -> list[str]:
    """The libraries that the .asd files of a folder name; what these need is not known."""
    texts = (path.read_text("utf-8") for path in sorted(folder.glob("*.asd")))
    lists = (names for text in texts for names in re.findall(r":depends-on\s*\(([^)]*)\)", text))
    return [name for names in lists for name in re.findall(r"[\w.+/-]+", names)]


def _requirements(_: Path, text: str) -> Locked:
    """A requirement is a line that is not indented; `\\` continues it."""
    lines = text.replace("\\\n", " ").splitlines()
    requirements = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    names = [line.split()[0] for line in requirements if not line.startswith("-")]
    hashed = {line.split()[0] for line in requirements if "--hash=sha256:" in line}
    return Locked(len(names), tuple(name for name in names if name not in hashed))


def _npm(_: Path, text: str) -> Locked:
    packages = {path: row for path, row in json.loads(text)["packages"].items() if path}
    unhashed = (path for path, row in packages.items() if not row.get("integrity"))
    return Locked(len(packages), tuple(unhashed))


def _cargo(_: Path, text: str) -> Locked:
    try:
        packages = [row for row in loads(text).get("package", []) if "source" in row]
    except TOMLDecodeError as error:
        raise ValueError(str(error)) from error
    return Locked(len(packages), tuple(row["name"] for row in packages if "checksum" not in row))


def _go(folder: Path, text: str) -> Locked:
    """A module that the build reads only go.mod of has only the hash of that file."""
    module = (folder / "go.mod").read_text("utf-8")
    declared = re.findall(r"^(?:require)?\s+(\S+) (v\d\S+)", module, re.MULTILINE)
    sums = {tuple(line.split()[:2]) for line in text.splitlines() if " h1:" in line}
    unhashed = (
        name
        for name, version in declared
        if (name, version) not in sums and (name, f"{version}/go.mod") not in sums
    )
    return Locked(len(declared), tuple(unhashed))


def _jars(_: Path, text: str) -> Locked:
    lines = text.splitlines()
    return Locked(len(lines), tuple(line for line in lines if not HASH.match(line)))


def _mix(folder: Path, text: str) -> Locked:
    """A dependency without a row counts too: Elixir before 1.15 adds it without a word."""
    rows = dict(re.findall(r'^\s*"(\w+)": (\{.*\})', text, re.MULTILINE))
    declared = re.findall(r"\{:(\w+), *\"", (folder / "mix.exs").read_text("utf-8"))
    needed = [
        name
        for row in rows.values()
        for name, options in re.findall(r'\{:(\w+), "[^"]*", \[([^\]]*)\]\}', row)
        if "optional: true" not in options
    ]
    names = dict.fromkeys((*rows, *declared, *needed))
    return Locked(len(names), tuple(n for n in names if not HASH.search(rows.get(n, ""))))


def _nimble(_: Path, text: str) -> Locked:
    """A git commit is the hash of what it names; Nim itself comes from the machine."""
    lines = re.findall(r"^requires (.*)$", text, re.MULTILINE)
    packages = [name for line in lines for name in re.findall(r'"([^"]+)"', line)]
    packages = [name for name in packages if not re.match(r"nim\b(?!\.)", name)]
    return Locked(len(packages), tuple(name for name in packages if not COMMIT.search(name)))


# what is declared where, what locks it, and how that is read
LOCKS: tuple[tuple[str, str, Callable[[Path, str], Locked]], ...] = (
    ("requirements.in", "requirements.lock", _requirements),
    ("compiled.in", "compiled.lock", _requirements),
    ("package.json", "package-lock.json", _npm),
    ("Cargo.toml", "Cargo.lock", _cargo),
    ("go.mod", "go.sum", _go),
    ("pom.xml", "jars.lock", _jars),
    ("mix.exs", "mix.lock", _mix),
)
