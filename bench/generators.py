"""The load generators, each with one client thread, and how they are called."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = "deadheat-load"

# Connections, seconds, kind of scene, URL.
Arguments = Callable[[int, int, str, str], list[str]]


@dataclass(frozen=True)
class Generator:
    name: str
    program: str | None
    """Where it is, None where it is not installed."""
    arguments: Arguments
    closes: bool = True
    """It can open a connection per request."""
    http2: bool = False
    """It speaks HTTP/2 without TLS."""
    resident: bool = False
    """It reads requests for slices from its input."""
    handshakes: bool = False
    """It makes handshakes on one connection after the other, and nothing else."""
    good_exits: tuple[int, ...] = (0,)

    def command(
        self, connections: int, seconds: int, kind: str, url: str, streams: int = 1
    ) -> list[str]:
        several = []
        if kind == "http2":
            several = ["-m" if self.name == "h2load" else "--streams", str(streams)]
        return [str(self.program), *self.arguments(connections, seconds, kind, url), *several]


def engine() -> str | None:
    """The engine as built here, or as installed."""
    built = ROOT / "target" / "release" / "deadheat-load"
    return str(built) if built.is_file() else shutil.which("deadheat-load")


def ours(*options: str) -> Arguments:
    def arguments(connections: int, seconds: int, kind: str, url: str) -> list[str]:
        load = ["-d", f"{seconds}s", "--warmup", "0s"] if kind != "slices" else ["--slices"]
        kinds = {"closed": ["--close"], "http2": ["--http2"]}
        # As the others: none of them checks a certificate.
        trust = ["--insecure"] if url.startswith("https") else []
        return ["-c", f"{connections}", *load, *kinds.get(kind, []), *trust, *options, url]

    return arguments


def wrk(connections: int, seconds: int, kind: str, url: str) -> list[str]:
    kept = ["-H", "Connection: close"] if kind == "closed" else []
    return ["-t1", f"-c{connections}", f"-d{seconds}s", *kept, url]


def ab(connections: int, seconds: int, kind: str, url: str) -> list[str]:
    # A number of requests that no run reaches: -t alone ends after 50,000.
    kept = [] if kind == "closed" else ["-k"]
    most = f"{seconds * 1_000_000}"
    return ["-q", *kept, "-c", f"{connections}", "-t", f"{seconds}", "-n", most, url]


def h2load(connections: int, seconds: int, kind: str, url: str) -> list[str]:
    h1 = [] if kind == "http2" else ["--h1"]
    return [*h1, "-t1", f"-c{connections}", f"-D{seconds}", url]


def oha(connections: int, seconds: int, kind: str, url: str) -> list[str]:
    kept = ["--disable-keepalive"] if kind == "closed" else []
    return ["--no-tui", "-c", f"{connections}", "-z", f"{seconds}s", *kept, url]


def bombardier(connections: int, seconds: int, kind: str, url: str) -> list[str]:
    # Its -a is for another HTTP client of its own, and does nothing here.
    kept = ["-H", "Connection: close"] if kind == "closed" else []
    return ["-q", "-c", f"{connections}", "-d", f"{seconds}s", *kept, url]


def s_time(connections: int, seconds: int, kind: str, url: str) -> list[str]:
    # Full handshakes, with the cipher suite and key exchange of the engine, and one request each.
    same = ["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"]
    address, _, path = url.removeprefix("https://").partition("/")
    return ["s_time", "-new", *same, "-connect", address, "-www", f"/{path}", "-time", f"{seconds}"]


def of_ours(name: str, *options: str) -> Generator:
    # 4: every response was right, and the client was the limit, as it is to be here.
    return Generator(name, engine(), ours(*options), http2=True, resident=True, good_exits=(0, 4))


def other(arguments: Arguments, closes: bool = True, http2: bool = False) -> Generator:
    name = arguments.__name__
    return Generator(name, shutil.which(name), arguments, closes, http2)


GENERATORS = [
    of_ours(OURS),
    of_ours(f"{OURS} (epoll)", "--backend", "epoll"),
    of_ours(f"{OURS} (io_uring)", "--backend", "io_uring"),
    other(wrk),
    other(ab),
    # It sends nothing more once the server has closed.
    other(h2load, closes=False, http2=True),
    other(oha),
    other(bombardier),
    Generator("s_time", shutil.which("openssl"), s_time, handshakes=True),
]
