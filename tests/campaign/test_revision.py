"""Builds of revisions, with a real repository and real processes."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deadheat.campaign.revision import Revisions, repository_of, resolve, uncommitted
from deadheat.errors import DeadheatError
from deadheat.events import silent
from deadheat.host import Limits
from deadheat.host.local import LocalHost

AUTHOR = ("-c", "user.name=Test", "-c", "user.email=test@localhost")


def git(folder: Path, *arguments: str) -> str:
    allowed = ("-c", "protocol.file.allow=always")
    command = ["git", "-C", str(folder), *AUTHOR, *allowed, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def built(inside: Path, build: str, asked: str = "HEAD~1") -> Path:
    """The folder of a revision; the command is called in the folder `inside`."""
    with LocalHost() as host:
        of = repository_of(host, inside)
        revision = resolve(host, of.root, "base", asked)
        revisions = Revisions(host, host, of, revision, revision, build, Limits())
        return revisions.built(revision, silent)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADHEAT_HOME", str(tmp_path / "home"))


def test_two_builds_of_one_revision_do_not_delete_each_other(tmp_path: Path) -> None:
    """Two `regress` runs built in the same folder, and each removed what the other had built."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    commit(repository, "first")
    build = f"echo built >> {tmp_path}/builds; sleep 0.5; touch finished"
    with ThreadPoolExecutor(3) as pool:
        folders = set(pool.map(lambda _: built(repository, build, "HEAD"), range(3)))
    assert (tmp_path / "builds").read_text() == "built\n"
    (folder,) = folders
    assert (folder / "finished").is_file()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits and a tag, with a submodule and a folder `api` in both."""
    for name in ("vendored", "repository"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q", "-b", "main")
    (tmp_path / "vendored" / "file").write_text("vendored")
    commit(tmp_path / "vendored", "one")
    folder = tmp_path / "repository"
    git(folder, "submodule", "add", "-q", f"file://{tmp_path}/vendored", "vendor")
    (folder / "api").mkdir()
    (folder / "api" / "f").write_text("first")
    commit(folder, "first")
    git(folder, "tag", "-a", "v1", "-m", "v1")
    (folder / "api" / "f").write_text("second")
    commit(folder, "second")
    return folder


def test_bug_submodules_were_empty(repository: Path) -> None:
    folder = built(repository, "cat vendor/file > seen")
    assert (folder / "seen").read_text() == "vendored"


def test_bug_a_build_that_asks_git_for_its_version_failed(repository: Path) -> None:
    folder = built(repository, "git describe --always > version")
    assert (folder / "version").read_text() == "v1\n"


def test_bug_a_build_began_in_another_folder_than_the_command(repository: Path) -> None:
    folder = built(repository / "api", "cp f built")
    assert (folder.name, (folder / "built").read_text()) == ("api", "first")


def test_a_revision_without_the_folder_is_named(repository: Path) -> None:
    (repository / "new").mkdir()
    with pytest.raises(DeadheatError, match=r"base-\w+ has no folder new"):
        built(repository / "new", "true")


def test_uncommitted_changes_are_counted(repository: Path) -> None:
    with LocalHost() as host:
        head, before = (resolve(host, repository, "head", name) for name in ("main", "main~1"))
        assert uncommitted(host, repository, head) == 0
        (repository / "api" / "f").write_text("third")
        assert uncommitted(host, repository, head) == 1
        assert uncommitted(host, repository, before) == 0
        stash = git(repository, "stash", "create")
    folder = built(repository, "cp api/f seen", stash)
    assert (folder / "seen").read_text() == "third"


@pytest.mark.parametrize(("asked", "hint"), [("master", "main"), ("mian", "main")])
def test_an_unknown_revision_suggests_near_names(repository: Path, asked: str, hint: str) -> None:
    with LocalHost() as host, pytest.raises(DeadheatError) as caught:
        resolve(host, repository, "base", asked)
    assert caught.value.hint == f"did you mean {hint}?"
    assert "fatal: " in str(caught.value)


def test_a_shallow_clone_is_named_and_its_commits_are_raced(repository: Path) -> None:
    shallow = repository.parent / "shallow"
    git(repository.parent, "clone", "-q", "--depth", "1", f"file://{repository}", str(shallow))
    with LocalHost() as host, pytest.raises(DeadheatError) as caught:
        resolve(host, shallow, "base", "HEAD~1")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("this clone is shallow: `git fetch --unshallow`")
    folder = built(shallow / "api", "cp f built", "HEAD")
    assert (folder / "built").read_text() == "second"


def test_a_shallow_clone_races_a_commit_that_no_branch_has(repository: Path) -> None:
    """Where a job fetched the base alone, and for uncommitted work."""
    shallow = repository.parent / "shallow"
    git(repository.parent, "clone", "-q", "--depth", "1", f"file://{repository}", str(shallow))
    git(shallow, "fetch", "-q", "--depth", "1", "origin", "v1")
    folder = built(shallow / "api", "cp f built", "FETCH_HEAD")
    assert (folder / "built").read_text() == "first"


def test_submodules_of_submodules_are_checked_out(repository: Path) -> None:
    inner = repository.parent / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "file").write_text("inner")
    commit(inner, "one")
    vendored = repository / "vendor"
    git(vendored, "submodule", "add", "-q", f"file://{inner}", "inner")
    commit(vendored, "two")
    commit(repository, "third")
    inner.rename(repository.parent / "gone")  # so only the checkout has it
    folder = built(repository, "cat vendor/inner/file > seen", "HEAD")
    assert (folder / "seen").read_text() == "inner"


def test_a_submodule_that_the_checkout_lacks_is_fetched(repository: Path) -> None:
    git(repository, "submodule", "deinit", "-q", "-f", "vendor")
    folder = built(repository, "cat vendor/file > seen")
    assert (folder / "seen").read_text() == "vendored"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_bug_a_repository_of_another_owner_was_said_to_be_none(repository: Path) -> None:
    for path in (repository, *repository.rglob("*")):
        os.chown(path, 1000, 1000, follow_symlinks=False)
    with LocalHost() as host, pytest.raises(DeadheatError, match="dubious ownership"):
        repository_of(host, repository)
