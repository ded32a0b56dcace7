from pathlib import Path

from deadheat.build.image import BASE_IMAGE, containerfile, image_file
from deadheat.catalog import selection
from tests.build.made import MANIFEST, made_server


def test_has_the_install_lines_the_steps_and_the_command(tmp_path: Path) -> None:
    lines = containerfile(selection(made_server(tmp_path)), "made/base:1").splitlines()
    assert lines[2:] == [
        "ARG BASE_IMAGE=made/base:1",
        "FROM ${BASE_IMAGE}",
        "RUN export DEBIAN_FRONTEND=noninteractive \\",
        " && apt-get update \\",
        " && get maker \\",
        " && rm -rf /var/lib/apt/lists/*",
        "WORKDIR /app",
        "COPY . .",
        'RUN ["env", "OUT=/app/out", "maker", "first", "/app"]',
        'RUN ["env", "OUT=/app/out", "maker", "second"]',
        "STOPSIGNAL SIGTERM",
        'CMD ["made", "0.0.0.0:8080"]',
    ]


def test_the_default_base_image_is_pinned_by_its_digest(tmp_path: Path) -> None:
    assert "@sha256:" in BASE_IMAGE
    assert f"ARG BASE_IMAGE={BASE_IMAGE}\n" in containerfile(selection(made_server(tmp_path)))


def test_an_environment_reaches_the_server_as_it_is(tmp_path: Path) -> None:
    env = 'ready_s = 5\nenv = {{ A = "a \\"quoted\\" $HOME \\\\ {{workers}}" }}'
    server = made_server(tmp_path, manifest=MANIFEST.replace("ready_s = 5", env))
    text = containerfile(selection(server, workers=3))
    assert r'ENV A="a \"quoted\" \$HOME \\ 3"' in text


def test_a_line_break_in_an_install_line_stays_within_its_command(tmp_path: Path) -> None:
    broken = MANIFEST.replace('"get maker"', '"""get \\\\\nmaker\nFROM other"""')
    text = image_file(made_server(tmp_path, manifest=broken), "made/base:1")
    assert [line.split()[0] for line in text.splitlines()] == [
        *("ARG", "FROM", "RUN", "WORKDIR", "COPY", "RUN", "RUN")
    ]


def test_the_image_of_a_run_has_no_command(tmp_path: Path) -> None:
    """deadheat gives the command itself, so that settings share an image."""
    text = image_file(made_server(tmp_path), "made/base:1")
    assert "CMD" not in text
    assert "ENV" not in text
