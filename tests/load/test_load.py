"""The load generators of this machine, against a running server."""

import shutil
from collections.abc import Iterator

import pytest

from deadheat.errors import DeadheatError
from deadheat.host import Completed, Host, ProcessSpec
from deadheat.host.fake import FakeHost
from deadheat.host.local import LocalHost
from deadheat.load import (
    Engine,
    Generator,
    GeneratorMissing,
    LoadResult,
    LoadSpec,
    generator,
    generator_version,
)
from deadheat.load.wrk import Wrk
from tests.servers.contenders import running


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with LocalHost() as local:
        yield local


@pytest.fixture(scope="module")
def url(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(host, "hello", tmp_path_factory.mktemp("logs") / "hello.log") as started:
        yield started


@pytest.fixture(scope="module", params=["engine", "wrk", "ab"])
def chosen(request: pytest.FixtureRequest) -> Generator:
    name = str(request.param)
    if name != "engine" and shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return generator(name)


def load(host: Host, chosen: Generator, spec: LoadSpec) -> LoadResult:
    done = host.run(ProcessSpec(chosen.command(spec)), spec.limit_s)
    return chosen.parse(spec, done, generator_version(chosen, host))


@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_trial_against_a_running_server(
    host: Host, url: str, chosen: Generator, keep_alive: bool
) -> None:
    duration_s = 0.1 if isinstance(chosen, Engine) else 1.0  # the others count whole seconds
    spec = LoadSpec(
        url, 2, duration_s, keep_alive=keep_alive, expect_body="Hello, World!", discard_s=0.05
    )
    result = load(host, chosen, spec)
    assert result.generator == chosen.name
    assert result.version[0].isdigit()
    assert result.errors == {}
    assert result.requests_ok > 0
    assert result.rate_per_s == pytest.approx(result.requests_ok / result.elapsed_s, rel=0.02)
    assert result.bytes_in is not None
    assert result.bytes_in > 13 * result.requests_ok
    assert (result.segments_lost is not None) == isinstance(chosen, Engine)


def test_the_engine_holds_a_rate(host: Host, url: str) -> None:
    spec = LoadSpec(url, 2, 0.3, rate_per_s=100, seed=1)
    result = load(host, generator("engine"), spec)
    assert result.errors == {}
    assert result.offered_rate_per_s is not None
    assert result.response_us["count"] == result.requests_ok


def test_rejects_an_unknown_generator() -> None:
    with pytest.raises(DeadheatError, match="no load generator 'siege'") as caught:
        generator("siege")
    assert caught.value.hint == "available: engine, wrk, ab"


def test_a_missing_generator_is_reported_with_its_package() -> None:
    with pytest.raises(GeneratorMissing, match="the load generator wrk cannot be run") as caught:
        generator_version(Wrk(), FakeHost())
    assert caught.value.hint == "apt-get install wrk"


def test_the_version_comes_from_the_load_host() -> None:
    host = FakeHost()
    host.on_run(lambda _: True, lambda *_: Completed(1, "wrk 4.2.0 [epoll]", "", 0.1, 0.1))
    assert generator_version(Wrk(), host) == "4.2.0"
