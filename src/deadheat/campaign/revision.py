"""The two revisions of a git repository that `regress` races, each built in its own folder."""

import gzip
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.build.builder import locked
from deadheat.errors import DeadheatError
from deadheat.events import Listener, Progress
from deadheat.home import home
from deadheat.host import Completed, Host, Limits, ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.measure.contender import Contender, OwnServers
from deadheat.workload import SampleRequest

GIT_TIMEOUT_S = 120.0
BUILD_TIMEOUT_S = 3600.0
SHORT = 10
LOG_LINES_SHOWN = 15


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, and the name that the user gave it."""

    role: str  # base, head
    asked: str
    commit: str

    @property
    def name(self) -> str:
        return f"{self.role}-{self.commit[:SHORT]}"


def resolve(host: Host, repository: Path, role: str, asked: str) -> Revision:
    """The commit of a name. Raises `DeadheatError` if git does not know it."""
    completed = _git(host, repository, "rev-parse", "--verify", "--quiet", f"{asked}^{{commit}}")
    if completed.exit_code != 0:
        raise DeadheatError(
            f"--{role} {asked}: no such revision in {repository}",
            "`git log --oneline` lists commits; for uncommitted work use $(git stash create)",
        )
    return Revision(role, asked, completed.stdout.strip())


def repository_of(host: Host, folder: Path) -> Path:
    """The root of the work tree with `folder`. Raises `DeadheatError` outside a work tree."""
    completed = _git(host, folder, "rev-parse", "--show-toplevel")
    if completed.exit_code != 0:
        raise DeadheatError(
            f"{folder} is not in a git repository",
            "run this in the repository whose revisions you want to compare",
        )
    return Path(completed.stdout.strip())


def build_revision(
    host: Host,
    repository: Path,
    revision: Revision,
    build: str | None,
    into: Path,
    listen: Listener,
    build_s: float = BUILD_TIMEOUT_S,
) -> Path:
    """The folder of the revision, built once by the shell command `build`.

    Raises `DeadheatError` with the last lines of a failed build.
    """
    folder = into / folder_name(revision, build)
    done = folder.with_suffix(".done")
    if done.is_file() and folder.is_dir():
        return folder
    listen(Progress(f"building {revision.name}"))
    into.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not (done.is_file() and folder.is_dir()):
            _make(host, repository, revision, build, folder, build_s)
            done.touch()
    return folder


def build_far_revision(
    here: Host,
    far: SshHost,
    repository: Path,
    revision: Revision,
    build: str | None,
    listen: Listener,
    build_s: float = BUILD_TIMEOUT_S,
) -> Path:
    """The folder of the revision there, in `~/.cache/deadheat/revisions`; see `build_revision`.

    git runs here, and the files of the revision are sent; the build runs there.
    """
    folder = far.cache_folder() / "revisions" / folder_name(revision, build)
    done = folder.with_suffix(".done")
    with far.locked(folder.with_suffix(".lock")):
        if far.read_file(done) is None:
            listen(Progress(f"building {revision.name}"))
            with tempfile.TemporaryDirectory(prefix="deadheat-") as scratch:
                tar = Path(scratch) / "revision.tar"
                archive_revision(here, repository, revision, tar)
                far.send_archive(gzip.compress(tar.read_bytes(), 6), folder)
            run_build(far, revision, build, Path(folder), build_s)
            far.write_file(done, "")
    return Path(folder)


def _make(
    host: Host,
    repository: Path,
    revision: Revision,
    build: str | None,
    folder: Path,
    build_s: float,
) -> None:
    folder.with_suffix(".done").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tar = folder.with_suffix(".tar")
    archive_revision(host, repository, revision, tar)
    unpacked = host.run(ProcessSpec(("tar", "-xf", str(tar), "-C", str(folder))), GIT_TIMEOUT_S)
    _require(unpacked, f"{revision.name}: tar")
    tar.unlink()
    run_build(host, revision, build, folder, build_s)


def folder_name(revision: Revision, build: str | None) -> str:
    """The name of the folder of a revision that `build` builds."""
    key = hashlib.sha256(f"{revision.commit}\0{build}".encode()).hexdigest()[:SHORT]
    return f"{revision.commit[:SHORT]}-{key}"


def archive_revision(host: Host, repository: Path, revision: Revision, tar: Path) -> None:
    """Write the files of a revision to a tar. Raises `DeadheatError`."""
    archived = _git(host, repository, "archive", f"--output={tar}", revision.commit)
    _require(archived, f"{revision.name}: git archive")


def run_build(
    host: Host, revision: Revision, build: str | None, folder: Path, build_s: float
) -> None:
    """Run the shell command in the folder. Raises `DeadheatError` with its last lines."""
    if build is not None:
        spec = ProcessSpec(("sh", "-c", build), cwd=str(folder), limited=True)
        _require(host.run(spec, build_s), f"{revision.name}: build `{build}`")


def contender_of(revision: Revision, folder: Path, command: Sequence[str]) -> Contender:
    """The contender that `command` starts in the folder of the revision."""
    return Contender(
        name=revision.name, role="contender", command=tuple(command), cwd=str(folder), any_body=True
    )


@dataclass(frozen=True, slots=True)
class Revisions:
    """Two revisions of the repository around the working directory, which `git_host` has.

    `host` builds and starts them with the shell command `build`, or without one.
    """

    git_host: Host
    host: Host
    repository: Path
    base: Revision
    head: Revision
    build: str | None
    limits: Limits

    @property
    def names(self) -> tuple[str, str]:
        return self.base.name, self.head.name

    def contenders(
        self, own: OwnServers, sample: SampleRequest | None, listen: Listener
    ) -> tuple[Contender, ...]:
        """Both revisions, built. Raises `DeadheatError` with the last lines of a failed build."""
        return tuple(
            replace(
                contender_of(revision, self._built(revision, listen), own.command),
                path=own.request_path,
                body_varies=own.any_body,
                sample=sample,
            )
            for revision in (self.base, self.head)
        )

    def _built(self, revision: Revision, listen: Listener) -> Path:
        """The folder of the revision on `host`."""
        build_s = self.limits.build_step_s or BUILD_TIMEOUT_S
        git_host, host, repository, build = self.git_host, self.host, self.repository, self.build
        if isinstance(host, SshHost):
            return build_far_revision(git_host, host, repository, revision, build, listen, build_s)
        folder = home() / "revisions"
        return build_revision(host, repository, revision, build, folder, listen, build_s)


@contextmanager
def revisions_on(
    host: Host, limits: Limits, base: str, head: str, build: str | None
) -> Iterator[Revisions]:
    """Resolve both names. Raises `DeadheatError` if there is no repository, revision or change."""
    with _host_for_git(host, limits) as git_host:
        repository = repository_of(git_host, Path.cwd())
        of_base = resolve(git_host, repository, "base", base)
        of_head = resolve(git_host, repository, "head", head)
        _require_change(of_base, of_head)
        yield Revisions(git_host, host, repository, of_base, of_head, build, limits)


@contextmanager
def _host_for_git(host: Host, limits: Limits) -> Iterator[Host]:
    """This machine, which has the repository."""
    if not isinstance(host, SshHost):
        yield host
        return
    with LocalHost(limits=limits) as here:
        yield here


def _require_change(base: Revision, head: Revision) -> None:
    if base.commit == head.commit:
        raise DeadheatError(
            f"--base {base.asked} and --head {head.asked} are the same commit",
            "commit the change, or race it uncommitted: --head $(git stash create)",
        )


def _git(host: Host, folder: Path, *arguments: str) -> Completed:
    return host.run(ProcessSpec(("git", "-C", str(folder), *arguments)), GIT_TIMEOUT_S)


def _require(completed: Completed, step: str) -> None:
    code = completed.exit_code
    if code == 0:
        return
    outcome = f"ended with {code}" if code is not None else "did not end in time"
    if completed.limit is not None:
        outcome = f"was stopped: {completed.limit}"
    lines = (completed.stdout + completed.stderr).splitlines()[-LOG_LINES_SHOWN:]
    raise DeadheatError("\n".join([f"{step} {outcome}", *(f"  | {line}" for line in lines)]))
