"""Builds of revisions, with a real repository and real processes."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deadheat.campaign.revision import build_revision, resolve
from deadheat.host.local import LocalHost


def test_two_builds_of_one_revision_do_not_delete_each_other(tmp_path: Path) -> None:
    """Two `regress` runs built in the same folder, and each removed what the other had built."""
    repository, into = tmp_path / "repository", tmp_path / "revisions"
    repository.mkdir()
    author = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    for arguments in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", repository, *arguments], check=True)
    build = f"echo built >> {tmp_path}/builds; sleep 0.5; touch finished"

    def built(_: int) -> Path:
        with LocalHost() as host:
            revision = resolve(host, repository, "base", "HEAD")
            return build_revision(host, repository, revision, build, into, lambda _: None)

    with ThreadPoolExecutor(3) as pool:
        folders = set(pool.map(built, range(3)))
    assert (tmp_path / "builds").read_text() == "built\n"
    (folder,) = folders
    assert (folder / "finished").is_file()
