"""The two revisions that `regress` races: found by git, built, and made into contenders."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.campaign.revision import (
    BUILD_TIMEOUT_S,
    Revision,
    build_far_revision,
    build_revision,
    contender_of,
    repository_of,
    resolve,
)
from deadheat.cli.own import OwnServers
from deadheat.errors import DeadheatError
from deadheat.events import Listener
from deadheat.host import Host, Limits
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.measure.contender import Contender
from deadheat.store import home
from deadheat.workload import Sample


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
        self, own: OwnServers, sample: Sample | None, listen: Listener
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
