"""The two revisions of a git repository that `regress` races, each built in its own folder."""

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat import numbers
from deadheat.build.builder import locked
from deadheat.campaign.checkout import (
    SHORT,
    UNCOMMITTED,
    Repository,
    Revision,
    check_out,
    repository_of,
    require_done,
    resolve,
    uncommitted,
)
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress
from deadheat.home import home
from deadheat.host import Host, Limits, ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.measure.contender import Contender
from deadheat.measure.own_servers import OwnServers
from deadheat.workload import SampleRequest

BUILD_TIMEOUT_S = 3600.0


def build_revision(
    host: Host,
    repository: Repository,
    revision: Revision,
    build: str | None,
    into: Path,
    listen: Listener,
    build_s: float = BUILD_TIMEOUT_S,
) -> Path:
    """The folder in the checkout of the revision, built once by the shell command `build`.

    It is the one in which the command was called, and in which `build` runs. Raises
    `DeadheatError` with the last lines of a failed build.
    """
    folder = into / folder_name(revision, build, repository)
    done = folder.with_suffix(".done")
    if done.is_file() and folder.is_dir():
        return folder / repository.inside
    listen(Progress(f"building {revision.name}"))
    into.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not (done.is_file() and folder.is_dir()):
            _make(host, repository, revision, build, folder, build_s)
            done.touch()
    return folder / repository.inside


def build_far_revision(
    here: Host,
    far: SshHost,
    repository: Repository,
    revision: Revision,
    build: str | None,
    listen: Listener,
    build_s: float = BUILD_TIMEOUT_S,
) -> Path:
    """The folder of the revision there, in `~/.cache/deadheat/revisions`; see `build_revision`.

    git runs here, and the files of the revision are sent; the build runs there.
    """
    folder = far.cache_folder() / "revisions" / folder_name(revision, build, repository)
    done = folder.with_suffix(".done")
    with far.locked(folder.with_suffix(".lock")):
        if far.read_file(done) is None:
            listen(Progress(f"building {revision.name}"))
            with tempfile.TemporaryDirectory(prefix="deadheat-") as scratch:
                clone = Path(scratch) / "clone"
                check_out(here, repository.root, revision, clone, whole=True)
                tar = Path(scratch) / "clone.tar.gz"
                with tarfile.open(tar, "w:gz", compresslevel=6) as archive:
                    archive.add(clone, ".")
                far.send_archive(tar.read_bytes(), folder)
            run_build(far, revision, build, Path(folder) / repository.inside, build_s)
            far.write_file(done, "")
    return Path(folder) / repository.inside


def _make(
    host: Host,
    repository: Repository,
    revision: Revision,
    build: str | None,
    folder: Path,
    build_s: float,
) -> None:
    folder.with_suffix(".done").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    check_out(host, repository.root, revision, folder)
    if not (folder / repository.inside).is_dir():
        raise DeadheatError(
            f"{revision.name} has no folder {repository.inside}",
            "run this in a folder that both revisions have",
        )
    run_build(host, revision, build, folder / repository.inside, build_s)


def folder_name(revision: Revision, build: str | None, repository: Repository) -> str:
    """The name of the folder of a revision that `build` builds."""
    parts = ("clone", revision.commit, str(build), str(repository.inside))
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{revision.commit[:SHORT]}-{key[:SHORT]}"


def run_build(
    host: Host, revision: Revision, build: str | None, folder: Path, build_s: float
) -> None:
    """Run the shell command in the folder. Raises `DeadheatError` with its last lines."""
    if build is not None:
        spec = ProcessSpec(("sh", "-c", build), cwd=str(folder), limited=True)
        require_done(host.run(spec, build_s), f"{revision.name}: build `{build}`")


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
        if self.head.asked == "HEAD" and (
            files := uncommitted(self.git_host, self.repository.root)
        ):
            changes = f"uncommitted changes in {numbers.count(files, 'file')} are not raced"
            listen(Event(f"{changes}; HEAD is. To race them: --head {UNCOMMITTED}", trouble=True))
        return tuple(
            replace(
                contender_of(revision, self._built(revision, listen), own.commands[0]),
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
        of_base = resolve(git_host, repository.root, "base", base)
        of_head = resolve(git_host, repository.root, "head", head)
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
            f"commit the change, or race it uncommitted: --head {UNCOMMITTED}",
        )
