"""The network between two hosts, measured before anything else runs."""

from deadheat.errors import DeadheatError
from deadheat.host import Host, HostError, ProcessSpec
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.load_process import load_once
from deadheat.measure.world import Link, World

ROUND_TRIPS_S = 0.3
BANDWIDTH_S = 0.5
BANDWIDTH_CONNECTIONS = 4
BODY_BYTES = 60_000
READY_S = 5.0
PROBE_S = 1.0
PROBE_INTERVAL_S = 0.05
STOP_S = 2.0
REQUEST = b"GET / HTTP/1.1\r\nHost: deadheat\r\nConnection: close\r\n\r\n"


def measure_link(world: World) -> Link:
    """Load the null server over the link. Raises `DeadheatError` if a load host gets no answer.

    It takes about a second. Several load hosts load it together; the round trip is then the mean
    (harmonic) of theirs.
    """
    sides = world.loads
    # Of one connection on each load host.
    spec = LoadSpec("", len(sides), ROUND_TRIPS_S, timeout_s=2.0)
    small = load_null_server(world, "", spec)
    body, connections = "x" * BODY_BYTES, BANDWIDTH_CONNECTIONS * len(sides)
    large = load_null_server(world, body, LoadSpec("", connections, BANDWIDTH_S, timeout_s=2.0))
    late = {name for name in large.errors if name.startswith("timeout")}  # its bytes count
    if small.errors_total or not small.requests_ok or not large.bytes_in or {*large.errors} - late:
        failed = ", ".join(filter(None, (small.errors_text, large.errors_text)))
        raise DeadheatError(
            f"the link to {world.server_address} is too slow or lossy to be measured: "
            f"{failed or 'no answer'}",
            f"try: ping {world.server_address} on the load host",
        )
    return Link(
        round_trip_us=round(1e6 * small.elapsed_s * len(sides) / small.requests_ok, 1),
        bytes_per_s=round(large.bytes_in / large.elapsed_s, 1),
    )


def load_null_server(world: World, body: str, spec: LoadSpec) -> LoadResult:
    """Load a null server that answers with `body`, or its own; `spec` says how, not where."""
    host, address = world.server_host, world.server_address
    port = host.free_port()
    command = world.server_engine.null_server(str(port), 0, address)
    if body:
        command += ["--null-body", body]
    server = host.start(ProcessSpec(command), str(world.logs / f"link-{port}.log"))
    try:
        for side in world.loads:
            _require_answer(side.host, world.server_address, port)
        url = f"http://{address}:{port}/"
        loaded = LoadSpec(url, spec.connections, spec.duration_s, timeout_s=spec.timeout_s)
        return load_once(world, loaded)
    finally:
        host.stop(server, "SIGTERM", STOP_S)


def _require_answer(host: Host, address: str, port: int) -> None:
    """Wait until the null server answers a load host."""
    begun_s = host.now_s()
    while True:
        try:
            host.exchange((address, port), REQUEST, PROBE_S, PROBE_S)
            return
        except HostError as error:
            if host.now_s() - begun_s > READY_S:
                raise DeadheatError(
                    f"the load host does not reach a server on the server host: {error}",
                    "open ports 10000 to 65535 in the firewall there, or give another address: "
                    "--server-address ADDRESS",
                ) from error
            host.sleep(PROBE_INTERVAL_S)
