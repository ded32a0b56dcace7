"""Revisions of a git repository, each in a folder of its own, built and ready to start."""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.events import Listener, Progress
from deadheat.host import Completed, Host, ProcessSpec
from deadheat.measure.contender import Contender

GIT_TIMEOUT_S = 120.0
BUILD_TIMEOUT_S = 3600.0
SHORT = 10
LOG_LINES_SHOWN = 15


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, by the name it was asked for."""

    role: str  # base, head
    asked: str
    commit: str

    @property
    def name(self) -> str:
        return f"{self.role}-{self.commit[:SHORT]}"


def resolve(host: Host, repository: Path, role: str, asked: str) -> Revision:
    """The commit that is meant. Raises `DeadheatError` where git knows none."""
    found = _git(host, repository, "rev-parse", "--verify", "--quiet", f"{asked}^{{commit}}")
    if found.exit_code != 0:
        raise DeadheatError(
            f"--{role} {asked}: no such revision in {repository}",
            "git log --oneline shows those there are; uncommitted work: $(git stash create)",
        )
    return Revision(role, asked, found.stdout.strip())


def repository_of(host: Host, folder: Path) -> Path:
    """The top of the work tree that holds `folder`. Raises `DeadheatError` outside of one."""
    found = _git(host, folder, "rev-parse", "--show-toplevel")
    if found.exit_code != 0:
        raise DeadheatError(
            f"{folder} is not in a git repository", "go to the one whose revisions are to be raced"
        )
    return Path(found.stdout.strip())


def build_revision(
    host: Host,
    repository: Path,
    revision: Revision,
    build: str | None,
    into: Path,
    listen: Listener,
) -> Path:
    """The folder that holds the revision, built by the shell command `build`; made once.

    Raises `DeadheatError` with the last lines of a build that failed.
    """
    key = hashlib.sha256(f"{revision.commit}\0{build}".encode()).hexdigest()[:SHORT]
    folder = into / f"{revision.commit[:SHORT]}-{key}"
    done = folder.with_suffix(".done")
    if done.is_file() and folder.is_dir():
        return folder
    listen(Progress(f"building {revision.name}"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tar = folder.with_suffix(".tar")
    archived = _git(host, repository, "archive", f"--output={tar}", revision.commit)
    _require(archived, f"{revision.name}: git archive")
    unpacked = host.run(ProcessSpec(("tar", "-xf", str(tar), "-C", str(folder))), GIT_TIMEOUT_S)
    _require(unpacked, f"{revision.name}: tar")
    tar.unlink()
    if build is not None:
        spec = ProcessSpec(("sh", "-c", build), cwd=str(folder))
        _require(host.run(spec, BUILD_TIMEOUT_S), f"{revision.name}: build `{build}`")
    done.touch()
    return folder


def racer_of(revision: Revision, folder: Path, command: Sequence[str]) -> Contender:
    """The revision, started by `command` in its own folder."""
    return Contender(
        name=revision.name, role="contender", command=tuple(command), cwd=str(folder), any_body=True
    )


def _git(host: Host, folder: Path, *arguments: str) -> Completed:
    return host.run(ProcessSpec(("git", "-C", str(folder), *arguments)), GIT_TIMEOUT_S)


def _require(done: Completed, what: str) -> None:
    if done.exit_code == 0:
        return
    how = f"ended with {done.exit_code}" if done.exit_code is not None else "did not end in time"
    lines = (done.stdout + done.stderr).splitlines()[-LOG_LINES_SHOWN:]
    raise DeadheatError("\n".join([f"{what} {how}", *(f"  | {line}" for line in lines)]))
