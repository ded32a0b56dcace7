"""HTTP/2 against servers of others: what the engine counts, their own logs count too."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.runs import BACKENDS, LIMIT_S, answers_accounted_for, run_engine

NODE = """
const server = require('http2').createServer();
let answered = 0;
server.on('stream', (stream) => {
  stream.respond({':status': 200, 'content-type': 'text/plain'});
  stream.end('Hello, World!');
  answered += 1;
});
process.on('SIGTERM', () => { console.log(answered); process.exit(0); });
server.listen(Number(process.argv[2]), '127.0.0.1');
"""

GO = """
package main

import (
    "fmt"
    "net/http"
    "os"
    "os/signal"
    "sync/atomic"
    "syscall"
)

func main() {
    var answered atomic.Int64
    protocols := new(http.Protocols)
    protocols.SetUnencryptedHTTP2(true)
    server := &http.Server{Addr: "127.0.0.1:" + os.Args[1], Protocols: protocols}
    server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        answered.Add(1)
        fmt.Fprint(w, "Hello, World!")
    })
    ended := make(chan os.Signal, 1)
    signal.Notify(ended, syscall.SIGTERM)
    go server.ListenAndServe()
    <-ended
    fmt.Println(answered.Load())
}
"""

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/log;
    keepalive_requests {requests};
    server {{
        listen 127.0.0.1:{port} http2;
        location / {{ default_type text/plain; return 200 'Hello, World!'; }}
    }}
}}
"""

# The command of a server on a port, with files in a folder; and from its output the answers it
# counted.
Server = tuple[list[str], Callable[[str], int]]


def node(port: int, folder: Path) -> Server:
    (folder / "server.js").write_text(NODE)
    return ["node", str(folder / "server.js"), str(port)], int


def go(port: int, folder: Path) -> Server:
    (folder / "server.go").write_text(GO)
    if shutil.which("go"):
        build = ["go", "build", "-o", str(folder / "server"), str(folder / "server.go")]
        built = subprocess.run(build, capture_output=True, text=True, cwd=folder, timeout=600)
        if "SetUnencryptedHTTP2" in built.stderr:
            pytest.skip("h2c is in Go's net/http from 1.24 on")
        assert built.returncode == 0, built.stderr
        return [str(folder / "server"), str(port)], int
    return ["go"], int


def nginx(port: int, folder: Path, requests: int = 1_000_000) -> Server:
    settings = NGINX.format(folder=folder, port=port, requests=requests)
    (folder / "nginx.conf").write_text(settings)
    log = folder / "log"
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    return command, lambda _: log.read_text().count('HTTP/2.0" 200')


def nginx_with_goaways(port: int, folder: Path) -> Server:
    return nginx(port, folder, requests=100)


def nghttpd(port: int, folder: Path) -> Server:
    (folder / "index.html").write_text("Hello, World!")
    command = ["nghttpd", "--no-tls", "-v", "-d", str(folder), "-a", "127.0.0.1", str(port)]
    return command, lambda said: len(re.findall(r":.*status.*: 200", said))


@contextmanager
def running(server: Callable[[int, Path], Server], folder: Path) -> Iterator[tuple[str, list[int]]]:
    """The URL of a server, and a list that has its count once it has ended."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command, count = server(port, folder)
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    counts: list[int] = []
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            await_port(port, process)
            yield f"http://127.0.0.1:{port}/", counts
        finally:
            process.terminate()
            process.wait(LIMIT_S)
        counts.append(count((folder / "said").read_text()))


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server does not listen")


@BACKENDS
@pytest.mark.parametrize("server", [nginx, nginx_with_goaways, nghttpd, node, go])
def test_counts_equal_the_log_of_the_server(
    server: Callable[[int, Path], Server], backend: str, tmp_path: Path
) -> None:
    load = ["--http2", "--streams", "7", "-c", "3", "-d", "300ms", "--warmup", "50ms"]
    with running(server, tmp_path) as (url, counts):
        sums = 0
        for options in ([], ["--rate", "500"], ["--close", "--streams", "1"]):
            document, _ = run_engine(url, *load, *options, "--backend", backend)
            assert document["classes"]["ok"] == document["requests"]["scheduled"] > 0, document
            sums += answers_accounted_for(document)
            if server is nginx_with_goaways and not options:
                assert document["http2"]["goaways"]["NO_ERROR"] > 0
    assert counts == [sums]
