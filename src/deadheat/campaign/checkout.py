"""What git has: the repository, its revisions, and a checkout of one with all it needs."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.host import Completed, Host, ProcessSpec

GIT_TIMEOUT_S = 600.0  # a clone of a large repository and its submodules
SHORT = 10
LOG_LINES_SHOWN = 15
MAIN_NAMES = ("main", "master", "trunk", "develop")
UNCOMMITTED = "$(git stash create)"


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree; `inside` is the folder in it where the command was called."""

    root: Path
    inside: Path


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, and the name that the user gave it."""

    role: str  # base, head
    asked: str
    commit: str

    @property
    def name(self) -> str:
        return f"{self.role}-{self.commit[:SHORT]}"


def repository_of(host: Host, folder: Path) -> Repository:
    """The work tree with `folder`. Raises `DeadheatError` with git's own words outside of one."""
    completed = _git(host, folder, "rev-parse", "--show-toplevel")
    if completed.exit_code != 0:
        raise DeadheatError(
            _with_words(f"{folder} cannot be read as a git repository", completed),
            "run this in the repository whose revisions you want to compare",
        )
    root = Path(completed.stdout.strip())
    return Repository(root, folder.resolve().relative_to(root.resolve()))


def resolve(host: Host, repository: Path, role: str, asked: str) -> Revision:
    """The commit of a name. Raises `DeadheatError` with git's own words and near names."""
    completed = _git(host, repository, "rev-parse", "--verify", f"{asked}^{{commit}}")
    if completed.exit_code == 0:
        return Revision(role, asked, completed.stdout.strip())
    hint = f"`git log --oneline` lists commits; for uncommitted work use {UNCOMMITTED}"
    if near := _near_names(host, repository, asked):
        hint = f"did you mean {' or '.join(near)}?"
    if _said(host, repository, "rev-parse", "--is-shallow-repository") == "true":
        hint = "this clone is shallow: `git fetch --unshallow` gets the other commits"
    raise DeadheatError(
        _with_words(f"--{role} {asked}: no such revision in {repository}", completed), hint
    )


def uncommitted(host: Host, repository: Path) -> int:
    """The number of changed files that are in no commit."""
    changes = _said(host, repository, "status", "--porcelain", "--untracked-files=no")
    return len(changes.splitlines())


def check_out(
    host: Host, repository: Path, revision: Revision, folder: Path, *, whole: bool = False
) -> None:
    """Make `folder` a clone at the revision, with its tags and submodules.

    The clone borrows the objects of the repository, unless it has to be `whole`. A submodule that
    is checked out in the repository is taken from there. Raises `DeadheatError`.
    """
    step = f"{revision.name}: git"
    shallow = _said(host, repository, "rev-parse", "--is-shallow-repository") == "true"
    source = f"file://{repository}" if shallow else str(repository)
    how = () if whole or shallow else ("--shared",)
    cloned = _git(host, repository, "clone", "-q", "--no-checkout", *how, source, str(folder))
    require_done(cloned, f"{step} clone")
    if origin := _said(host, repository, "remote", "get-url", "origin"):
        _git(host, folder, "remote", "set-url", "origin", origin)  # what relative submodules mean
    require_done(
        _git(host, folder, "checkout", "-q", "--detach", revision.commit), f"{step} checkout"
    )
    if not (folder / ".gitmodules").is_file():
        return
    require_done(_git(host, folder, "submodule", "init"), f"{step} submodule init")
    for name, path in _submodules(host, folder):
        if (repository / path / ".git").exists():
            _git(host, folder, "config", f"submodule.{name}.url", f"file://{repository / path}")
    local = ("-c", "protocol.file.allow=always")
    update = ("submodule", "update", "--init", "--recursive", "--quiet")
    require_done(_git(host, folder, *local, *update), f"{step} submodule update")


def require_done(completed: Completed, step: str) -> None:
    """Raises `DeadheatError` with the last lines of a command that failed."""
    code = completed.exit_code
    if code == 0:
        return
    outcome = f"ended with {code}" if code is not None else "did not end in time"
    if completed.limit is not None:
        outcome = f"was stopped: {completed.limit}"
    raise DeadheatError(_with_words(f"{step} {outcome}", completed))


def _submodules(host: Host, folder: Path) -> Iterator[tuple[str, str]]:
    """The name and the path of each."""
    pattern = r"^submodule\..*\.path$"
    lines = _said(host, folder, "config", "--file", ".gitmodules", "--get-regexp", pattern)
    for line in lines.splitlines():
        key, _, path = line.partition(" ")
        yield key.removeprefix("submodule.").removesuffix(".path"), path


def _near_names(host: Host, repository: Path, asked: str) -> list[str]:
    """Branches and tags whose names are near; for a usual name of the main branch, the others."""
    names = _said(host, repository, "for-each-ref", "--format=%(refname:short)").splitlines()
    near = difflib.get_close_matches(asked, names, n=3)
    if asked in MAIN_NAMES:
        near += [name for name in MAIN_NAMES if name in names and name not in near]
    remote = [name for name in names if name.endswith(f"/{asked}")]
    return [*remote, *(name for name in near if name not in remote)][:3]


def _with_words(symptom: str, completed: Completed) -> str:
    lines = (completed.stdout + completed.stderr).splitlines()[-LOG_LINES_SHOWN:]
    return "\n".join([symptom, *(f"  | {line}" for line in lines)])


def _said(host: Host, folder: Path, *arguments: str) -> str:
    """What git printed; nothing if it failed."""
    completed = _git(host, folder, *arguments)
    return completed.stdout.strip() if completed.exit_code == 0 else ""


def _git(host: Host, folder: Path, *arguments: str) -> Completed:
    env = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    return host.run(ProcessSpec(("git", "-C", str(folder), *arguments), env=env), GIT_TIMEOUT_S)
