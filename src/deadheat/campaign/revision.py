"""The two revisions of a git repository that `regress` races, each checked out with all it needs
and built in its own folder.
"""

import difflib
import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from deadheat import numbers
from deadheat.build.builder import locked
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress
from deadheat.home import home
from deadheat.host import Completed, Host, Limits, ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.measure.contender import Contender
from deadheat.measure.own_servers import OwnServers
from deadheat.workload import SampleRequest

GIT_TIMEOUT_S = 600.0  # a clone of a large repository and its submodules
BUILD_TIMEOUT_S = 3600.0
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
    elif _is_shallow(host, repository):
        hint = "this clone is shallow: `git fetch --unshallow` gets the other commits"
    raise DeadheatError(
        _with_words(f"--{role} {asked}: no such revision in {repository}", completed), hint
    )


def uncommitted(host: Host, repository: Path, revision: Revision) -> int:
    """The number of changed files in no commit, if the revision is the one that is checked out."""
    if _said(host, repository, "rev-parse", "HEAD") != revision.commit:
        return 0
    changes = _said(host, repository, "status", "--porcelain", "--untracked-files=no")
    return len(changes.splitlines())


def check_out(
    host: Host, repository: Repository, revision: Revision, folder: Path, *, whole: bool = False
) -> None:
    """Make `folder` a clone at the revision, with its tags and submodules.

    The clone borrows the objects of the repository, unless it has to be `whole`. A submodule that
    is checked out in the repository is taken from there. Raises `DeadheatError`.
    """
    root, step = repository.root, f"{revision.name}: git"
    if _is_shallow(host, root):  # git does not borrow from a shallow clone
        source = f"file://{root}"
        cloned = _git(host, root, "clone", "-q", "--no-checkout", source, str(folder))
        require_done(cloned, f"{step} clone")
        fetched = _git(host, folder, "fetch", "-q", source, revision.commit)  # of no branch, maybe
        require_done(fetched, f"{step} fetch")
    else:
        how = () if whole else ("--shared",)
        cloned = _git(host, root, "clone", "-q", "--no-checkout", *how, str(root), str(folder))
        require_done(cloned, f"{step} clone")
    if origin := _said(host, root, "remote", "get-url", "origin"):
        _git(host, folder, "remote", "set-url", "origin", origin)  # what relative submodules mean
    checked_out = _git(host, folder, "checkout", "-q", "--detach", revision.commit)
    require_done(checked_out, f"{step} checkout")
    _add_submodules(host, root, folder, f"{step} submodule")
    if not (folder / repository.inside).is_dir():
        raise DeadheatError(
            f"{revision.name} has no folder {repository.inside}",
            "run this in a folder that both revisions have",
        )


def require_done(completed: Completed, step: str) -> None:
    """Raises `DeadheatError` with the last lines of a command that failed."""
    code = completed.exit_code
    if code == 0:
        return
    outcome = f"ended with {code}" if code is not None else "did not end in time"
    if completed.limit is not None:
        outcome = f"was stopped: {completed.limit}"
    raise DeadheatError(_with_words(f"{step} {outcome}", completed))


def _add_submodules(host: Host, source: Path, folder: Path, step: str) -> None:
    """Those of the clone in `folder`, and theirs; from the checkout `source` where it has them."""
    if not (folder / ".gitmodules").is_file():
        return
    require_done(_git(host, folder, "submodule", "init"), f"{step} init")
    submodules = list(_submodules(host, folder))
    for name, path in submodules:
        if (source / path / ".git").exists():
            _git(host, folder, "config", f"submodule.{name}.url", f"file://{source / path}")
    update = ("-c", "protocol.file.allow=always", "submodule", "update", "--quiet")
    if _git(host, folder, *update).exit_code != 0:  # the checkout may lack the commit
        _git(host, folder, "submodule", "sync", "--quiet")
        require_done(_git(host, folder, *update), f"{step} update")
    for _, path in submodules:
        _add_submodules(host, source / path, folder / path, step)


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


def _is_shallow(host: Host, repository: Path) -> bool:
    return _said(host, repository, "rev-parse", "--is-shallow-repository") == "true"


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


@dataclass(frozen=True, slots=True)
class Revisions:
    """Two revisions of the repository around the working directory, which `git_host` has.

    `host` builds and starts them with the shell command `build`, or without one.
    """

    git_host: Host
    host: Host
    repository: Repository
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
        if files := uncommitted(self.git_host, self.repository.root, self.head):
            changes = f"uncommitted changes in {numbers.count(files, 'file')} are not raced"
            listen(
                Event(
                    f"{changes}; {self.head.asked} is. To race them: --head {UNCOMMITTED}",
                    trouble=True,
                )
            )
        return tuple(
            Contender(
                name=revision.name,
                role="contender",
                command=tuple(own.commands[0]),
                cwd=str(self.built(revision, listen)),
                any_body=True,
                path=own.request_path,
                body_varies=own.any_body,
                sample=sample,
            )
            for revision in (self.base, self.head)
        )

    def built(self, revision: Revision, listen: Listener) -> Path:
        """The folder in the checkout of the revision on `host`, built once.

        It is the one in which the command was called, and in which `build` runs. Raises
        `DeadheatError` with the last lines of a failed build.
        """
        parts = ("clone", revision.commit, str(self.build), str(self.repository.inside))
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        name = f"{revision.commit[:SHORT]}-{key[:SHORT]}"
        if isinstance(self.host, SshHost):
            folder = self._built_far(self.host, revision, name, listen)
        else:
            folder = self._built_here(revision, home() / "revisions" / name, listen)
        return folder / self.repository.inside

    def _built_here(self, revision: Revision, folder: Path, listen: Listener) -> Path:
        done = folder.with_suffix(".done")
        if done.is_file() and folder.is_dir():
            return folder
        listen(Progress(f"building {revision.name}"))
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.with_suffix(".lock")):
            if not (done.is_file() and folder.is_dir()):
                done.unlink(missing_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                check_out(self.host, self.repository, revision, folder)
                self._run_build(revision, folder)
                done.touch()
        return folder

    def _built_far(self, far: SshHost, revision: Revision, name: str, listen: Listener) -> Path:
        """In `~/.cache/deadheat/revisions` there; git runs here, and the files are sent."""
        folder = far.cache_folder() / "revisions" / name
        done = folder.with_suffix(".done")
        with far.locked(folder.with_suffix(".lock")):
            if far.read_file(done) is None:
                listen(Progress(f"building {revision.name}"))
                with tempfile.TemporaryDirectory(prefix="deadheat-") as scratch:
                    clone = Path(scratch) / "clone"
                    check_out(self.git_host, self.repository, revision, clone, whole=True)
                    tar = Path(scratch) / "clone.tar.gz"
                    with tarfile.open(tar, "w:gz", compresslevel=6) as archive:
                        archive.add(clone, ".")
                    far.send_archive(tar.read_bytes(), folder)
                self._run_build(revision, Path(folder))
                far.write_file(done, "")
        return Path(folder)

    def _run_build(self, revision: Revision, clone: Path) -> None:
        """Raises `DeadheatError` with the last lines of the shell command."""
        if self.build is not None:
            command, inside = ("sh", "-c", self.build), str(clone / self.repository.inside)
            spec = ProcessSpec(command, cwd=inside, limited=True)
            completed = self.host.run(spec, self.limits.build_step_s or BUILD_TIMEOUT_S)
            require_done(completed, f"{revision.name}: build `{self.build}`")


@contextmanager
def revisions_on(
    host: Host, limits: Limits, base: str, head: str, build: str | None
) -> Iterator[Revisions]:
    """Resolve both names. Raises `DeadheatError` if there is no repository, revision or change."""
    here: AbstractContextManager[Host] = nullcontext(host)
    if isinstance(host, SshHost):  # this machine has the repository
        here = LocalHost(limits=limits)
    with here as git_host:
        repository = repository_of(git_host, Path.cwd())
        of_base = resolve(git_host, repository.root, "base", base)
        of_head = resolve(git_host, repository.root, "head", head)
        if of_base.commit == of_head.commit:
            raise DeadheatError(
                f"--base {base} and --head {head} are the same commit",
                f"commit the change, or race it uncommitted: --head {UNCOMMITTED}",
            )
        yield Revisions(git_host, host, repository, of_base, of_head, build, limits)
