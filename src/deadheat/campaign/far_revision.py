"""Revisions of a git repository of this machine, built on another one."""

import gzip
import tempfile
from pathlib import Path

from deadheat.campaign.revision import (
    BUILD_TIMEOUT_S,
    Revision,
    archive_revision,
    folder_name,
    run_build,
)
from deadheat.events import Listener, Progress
from deadheat.host import Host
from deadheat.host.ssh import SshHost


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
