"""Manifests that are not made in good faith: a fault with a reason, in bounded time."""

import os
import socket
from pathlib import Path

import pytest

from deadheat.catalog import load_catalog, load_server
from deadheat.catalog.new import copy_server
from deadheat.catalog.server import FILES_MAX, copy_folder, hash_files
from deadheat.catalog.toml_lines import BYTES_MAX, FileFault, key_lines, line_of
from deadheat.errors import DeadheatError, UsageFault
from deadheat.protocol import load_protocol
from deadheat.protocol.figures import read_figures
from tests.catalog.conftest import MANIFEST, Folders


def fault_of(folders: Folders, text: str) -> str:
    folder = folders.server(text)
    with pytest.raises(FileFault) as caught:
        load_server(folder, folders.recipes)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("workers", value) for value in ("9" * 4000, "0x" + "f" * 900, "1000001", "0")),
        *(("ready_s", value) for value in ("inf", "nan", "1e300", "604801")),
    ],
)
def test_a_number_out_of_range_is_a_fault(folders: Folders, key: str, value: str) -> None:
    fault = fault_of(folders, MANIFEST + f"{key} = {value}\n")
    assert fault.startswith(f"server.toml:16: start.{key}: expected ")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        *(
            (f"ready_s = {number}", ":16: a number has too many digits")
            for number in ("9" * 5000, "0x" + "f" * 5000)
        ),
        ("ready_s = [1,\n 0b" + "1" * 5000, ":17: a number has too many digits"),
        *(
            (f"\ndeep = {nested}", ":17: nested in more than 100 levels")
            for nested in ("[" * 3000 + "]" * 3000, "{a=" * 3000 + "1" + "}" * 3000)
        ),
        (".".join(["a"] * 50_000) + " = 1", ":16: the key has more than 32 parts"),
        ("#" * BYTES_MAX, ": cannot be read: it is larger than 256 KiB"),
    ],
)
def test_what_python_cannot_bear_is_a_fault(folders: Folders, text: str, fault: str) -> None:
    """Regression: nesting was a RecursionError, and an endless number a message of Python's."""
    assert fault_of(folders, f"{MANIFEST}{text}\n") == f"server.toml{fault}"


def test_bug_a_name_too_long_for_a_file_was_a_traceback(folders: Folders) -> None:
    """`--protocol` with such a name said that the path is wrong."""
    text = MANIFEST.replace("[version]", f'recipe = "{"9" * 5000}"\n[version]', 1)
    assert ": recipe: expected to have at most 100 characters" in fault_of(folders, text)
    with pytest.raises(UsageFault, match="expected a name of at most 250 bytes"):
        load_protocol(folders.root, "9" * 5000)


def test_signs_in_strings_and_comments_are_not_nesting(folders: Folders) -> None:
    signs = "[{." * 300
    text = f'# {signs}\nnotes = [\'{signs}\', "{signs}\\"", \'\'\'{signs}\'\'\',\n"""{signs}"""]\n'
    server = load_server(folders.server(text + MANIFEST), folders.recipes)
    assert server.manifest.notes == (signs, f'{signs}"', signs, signs)


@pytest.mark.parametrize("line", ["key = 1", "key = [1,\n2]", "[key]", "key = '''\na'''"])
def test_lines_of_a_long_file_are_found(line: str) -> None:
    """Regression: quadratic. This would take hours."""
    text = "".join(f"{line.replace('key', f'key{number}')}\n" for number in range(10_000))
    lines = key_lines(text)
    step = 1 + line.count("\n")
    assert line_of(lines, ("key9999",)) == 9999 * step + 1


@pytest.mark.parametrize(
    "sign", ['"', "'", '"""\\', "'''", "[", "\\", " ", "#", '"\\', ".", "a ", "="]
)
def test_any_repeated_sign_is_read_in_linear_time(folders: Folders, sign: str) -> None:
    for begin in ("", "[a", "a = ", 'a = """'):
        (folders.root / "servers" / "plain").mkdir(exist_ok=True)
        text = begin + sign * ((BYTES_MAX - 10) // len(sign))
        (folders.root / "servers" / "plain" / "server.toml").write_text(text)
        assert "plain" in load_catalog(folders.root).faults
        key_lines(text)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket"])
def test_a_manifest_that_is_not_a_file_is_a_fault(folders: Folders, kind: str) -> None:
    """Regression: a FIFO as server.toml hung `list`, and a device filled the memory."""
    folder = folders.server()
    path = folder / "server.toml"
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    faults = load_catalog(folders.root).faults
    assert "cannot be read: expected a regular file" in str(faults["plain"])
    with pytest.raises(DeadheatError, match="expected a regular file"):
        read_figures(path)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (r'command = ["run\u0000"]', "start.command"),
        (r'command = [""]', "start.command"),
        (r'env = { A = "b\u0000" }', "start.env.A"),
        *((f"env = {{ {name} = 'x' }}", "start.env") for name in ('""', '"A=B"', r'"A\u0000"')),
    ],
)
def test_what_no_process_can_get_is_a_fault(folders: Folders, line: str, place: str) -> None:
    """Regression: NUL in a command and an empty name of a variable ended `run` with a traceback."""
    kept = MANIFEST.replace('command = ["{build}', "#") if "command" in line else MANIFEST
    assert place in (fault := fault_of(folders, f"{kept}{line}\n"))
    assert ": expected " in fault


def test_many_faults_are_cut_off(folders: Folders) -> None:
    fault = fault_of(folders, "".join(f"key{number} = 1\n" for number in range(9000)))
    assert fault.count("\n") == 50
    assert "more faults" in fault


def test_a_key_cannot_fake_a_line(folders: Folders) -> None:
    fault = fault_of(folders, f'"a\\nb\\u001b{"c" * 900}" = 1\n' + MANIFEST)
    assert r"a\nb\x1bccc" in fault
    assert "\n" not in fault
    assert len(fault) < 400


@pytest.mark.parametrize("target", ["../../../secret", "/etc/hostname", "loop", "../other"])
def test_a_link_out_of_the_folder_is_a_fault(folders: Folders, target: str) -> None:
    """Regression: builds copied what links lead to; two links wrote 340 MB."""
    folder = folders.server()
    (folder / "loop").symlink_to(target)
    fault = str(load_catalog(folders.root).faults["plain"])
    assert "loop: the link leads out of the server's folder" in fault


def test_links_within_the_folder_are_copied_as_links(folders: Folders, tmp_path: Path) -> None:
    folder = folders.server()
    (folder / "sub").mkdir()
    (folder / "sub" / "a").write_text("a")
    (folder / "sub" / "all").symlink_to("..")  # copied as folders, this would not end
    (folder / "b").symlink_to("sub/a")
    server = load_server(folder, folders.recipes)
    copy_folder(folder, tmp_path / "copy")
    assert (tmp_path / "copy" / "b").readlink() == Path("sub/a")
    assert (tmp_path / "copy" / "sub" / "all").is_symlink()
    assert sorted(hash_files(folder)) == ["b", "server.toml", "sub/a", "sub/all"]
    assert (copy_server(server, "again", server.folder.parents[1]) / "b").is_symlink()


def test_a_changed_link_changes_the_build(folders: Folders) -> None:
    folder = folders.server()
    (folder / "link").symlink_to("server.toml")
    before = hash_files(folder)
    (folder / "link").unlink()
    (folder / "link").symlink_to("other.toml")
    assert hash_files(folder) != before


def test_a_folder_with_a_pipe_or_a_huge_file_is_a_fault(folders: Folders) -> None:
    folder = folders.server()
    os.mkfifo(folder / "pipe")
    assert "expected a file, a folder or a link" in str(load_catalog(folders.root).faults["plain"])
    (folder / "pipe").unlink()
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 40)
    fault = str(load_catalog(folders.root).faults["plain"])
    assert f"more than {FILES_MAX:,} files or 1 GiB" in fault
