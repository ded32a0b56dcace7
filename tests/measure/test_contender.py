from pathlib import Path

from deadheat.build.builder import Built
from deadheat.catalog import selection
from deadheat.load import Engine
from deadheat.measure.contender import NULL_SERVER, contender_from, controls
from tests.build.made import MANIFEST, made_server


def test_fills_all_placeholders_except_the_port(tmp_path: Path) -> None:
    manifest = MANIFEST.replace('"{{host}}:{{port}}"', '"{{build}}/app", "{{port}}", "{{workers}}"')
    manifest += 'env = {{ THREADS = "{{threads}}", LISTEN = "{{host}}:{{port}}" }}\nthreads = 3\n'
    manifest += 'stop_signal = "SIGINT"\nstop_s = 2\n'
    server = made_server(tmp_path, manifest=manifest)
    built = Built(server, "key", tmp_path / "build", "", 0.0, {}, {}, cached=True)
    contender = contender_from(selection(server, workers=4), built)
    assert contender.name == "made:w4"
    assert contender.role == "contender"
    assert contender.command_at(80) == ("made", f"{tmp_path}/build/app", "80", "4")
    assert contender.env_at(80) == {"THREADS": "3", "LISTEN": "127.0.0.1:80"}
    assert contender.cwd == str(tmp_path / "build")
    assert (contender.workers, contender.threads, contender.ready_s) == (4, 3, 5)
    assert (contender.stop_signal, contender.stop_s) == ("SIGINT", 2)


def test_controls_are_a_null_server_and_a_reference() -> None:
    null, reference = controls(Engine("deadheat-load"))
    assert null.name == NULL_SERVER
    assert null.command_at(80)[-4:] == ("--null-server", "80", "--null-work", "0")
    assert int(reference.command_at(80)[-1]) > 0
    assert {null.role, reference.role} == {"control"}
