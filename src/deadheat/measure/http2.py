"""Checks of a server over HTTP/2 or TLS: the load engine asks, and compares each answer."""

import re
from collections.abc import Iterator
from dataclasses import replace

from deadheat.errors import DeadheatError
from deadheat.host import ProcessSpec
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.load.engine import PREFLIGHT
from deadheat.measure.contender import Instance
from deadheat.measure.verify import BODY, UNKNOWN_PATH
from deadheat.measure.world import World
from deadheat.store.json_columns import Behavior
from deadheat.workload import HELLO, Workload
from deadheat.workload.model import Expect, Request, VerificationRequest

OF_BODY = ("body_mismatch", "body_length")
PREFLIGHT_OF = re.compile(r"^preflight of (\w+ )?\S+: ")
TIMEOUT_S_MIN = 0.02  # of a request just before the deadline
ASKED_S = 0.02  # of a check: each template is requested at least once


def ready_request(instance: Instance) -> Request:
    """The request that shows whether it is ready; of the user's own, only the status counts."""
    contender = instance.contender
    if (sample := contender.sample) is not None:
        return Request(
            method=sample.method,
            path=sample.path,
            headers=dict(sample.headers),
            body=sample.body.decode() or None,
            expect=Expect(status=sample.status),
        )
    right = Expect(media_type=contender.media_type, body=BODY.decode())
    return Request(path=instance.path, expect=Expect() if contender.any_body else right)


def ready_fault(world: World, instance: Instance, timeout_s: float) -> str | None:
    """What is wrong with its answer to the request that shows whether it is ready."""
    timeout_s = max(timeout_s, TIMEOUT_S_MIN)
    return http2_fault(world, instance, ready_request(instance), timeout_s)


def http2_fault(world: World, instance: Instance, request: Request, timeout_s: float) -> str | None:
    """What is wrong with the answers to a request without variables; None if all are right."""
    fault = _fault(world, instance, _alone(request), timeout_s)
    return None if fault is None else PREFLIGHT_OF.sub("", fault)


def tls_fault(world: World, instance: Instance) -> str | None:
    """Why the first load host takes no HTTP/1.1 over a server's TLS, with the fix; None if it does,
    if it need not, or if the generator trusts every certificate."""
    contender = instance.contender
    is_asked = contender.speaks_tls and not contender.speaks_http2
    if not is_asked or world.generator.name != Engine.name:
        return None
    workload = _alone(ready_request(instance))
    try:
        _load(world, instance, workload, contender.ready_s, from_load_host=True)
    except DeadheatError as error:
        if str(error).startswith(PREFLIGHT):
            return PREFLIGHT_OF.sub("", str(error).removeprefix(PREFLIGHT))
    return None


def tls_parameters(world: World, instance: Instance) -> str | None:
    """The version, cipher suite and key exchange that the engine and the server agree on; None
    without TLS, or without an answer."""
    contender = instance.contender
    if not contender.speaks_tls:
        return None
    try:
        return _load(world, instance, _alone(ready_request(instance)), contender.ready_s).tls
    except DeadheatError:
        return None


def _alone(request: Request) -> Workload:
    return Workload(name=HELLO, about="one request of a check", requests=(request,))


def http2_workload_fault(world: World, instance: Instance, workload: Workload) -> str | None:
    """The first part of a workload that is answered wrong, and how; None if none is.

    The least time of an answer (`expect.after_ms`) is not checked.
    """
    for about, part in _parts(workload):
        if (fault := _fault(world, instance, part, instance.contender.ready_s)) is not None:
            return f"workload {workload.name}, {about}: {fault}"
    return None


def behavior_over_http2(world: World, instance: Instance, timeout_s: float) -> Behavior:
    """What is known over HTTP/2: whether the answer is right, and that to an unknown path."""
    fault = ready_fault(world, instance, timeout_s)
    right = fault is None
    return Behavior(
        status=200 if right else None,
        media_type=instance.contender.media_type if right else None,
        body_bytes=None,
        framing="frames",
        head_bytes=None,
        date=False,
        server_header=None,
        keep_alive=None,
        close_honored=None,
        http_1_0=None,
        head=None,
        pipelined=None,
        unknown_path=_unknown_path_status(world, instance, timeout_s),
        fault=fault,
    )


def _unknown_path_status(world: World, instance: Instance, timeout_s: float) -> int | None:
    """The status of an unknown path; None if it is not known."""
    request = Request(path=UNKNOWN_PATH, expect=Expect(status=404))
    fault = http2_fault(world, instance, request, timeout_s)
    if fault is None:
        return 404
    status = re.search(r"\bstatus (\d{3}), expected 404", fault)
    return int(status[1]) if status else None


def _parts(workload: Workload) -> Iterator[tuple[str, Workload]]:
    """As loaded, then each check alone."""
    yield "as loaded", workload
    for check in workload.checks:
        yield check.about, _of_check(workload, check)


def _of_check(workload: Workload, check: VerificationRequest) -> Workload:
    request = Request(**{name: getattr(check, name) for name in Request.model_fields})
    variables = {**workload.variables, **check.variables}
    changes = {"requests": (request,), "variables": variables, "checks": (), "draws": 1}
    return workload.model_copy(update=changes)


def _fault(world: World, instance: Instance, workload: Workload, timeout_s: float) -> str | None:
    try:
        result = _load(world, instance, workload, timeout_s)
    except DeadheatError as error:
        return str(error).removeprefix(PREFLIGHT)
    if not any(request.expect.templates for request in workload.requests):
        # The engine compares each body with the first; an error page may contain the time.
        kept = {name: n for name, n in result.errors.items() if name not in OF_BODY}
        result = replace(result, errors=kept)
    return result.errors_text or None


def _load(
    world: World,
    instance: Instance,
    workload: Workload,
    timeout_s: float,
    from_load_host: bool = False,
) -> LoadResult:
    """Raises `DeadheatError` if the first request got no answer, or a wrong one."""
    spec = LoadSpec(
        url=instance.url,
        connections=1,
        duration_s=ASKED_S,
        timeout_s=timeout_s,
        workload=workload.for_engine(),
        arguments=instance.trust,
        http2_streams=1 if instance.contender.speaks_http2 else None,
    )
    host, engine = world.server_host, world.server_engine
    if from_load_host:
        host, engine = world.load.host, world.load.engine
    completed = host.run(ProcessSpec(tuple(engine.command(spec))), spec.limit_s + timeout_s)
    return engine.parse(spec, completed, world.engine_version)
