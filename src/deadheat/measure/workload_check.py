"""Whether a started server answers a workload right, hostile requests included."""

from collections.abc import Iterator

from deadheat.host import Host
from deadheat.measure.response import Response
from deadheat.measure.verify import DEADLINE_S, ask_payload
from deadheat.workload import Sample, Workload

SAMPLES = 3  # requests of each template, with different values
GROWTH_ROUNDS = 2


def workload_fault(
    host: Host, address: tuple[str, int], workload: Workload, deadline_s: float = DEADLINE_S
) -> str | None:
    """The first request that gets a wrong answer, and how; None if all are right.

    Each request is sent on a new connection that lasts `deadline_s` at most.
    """
    for about, sample in _requests(workload):
        fault = _answer_fault(host, address, sample, deadline_s)
        if fault is not None:
            return _described(workload, about, sample, fault)
    return None


def growth_fault(
    host: Host,
    process: str,
    address: tuple[str, int],
    workload: Workload,
    deadline_s: float = DEADLINE_S,
) -> str | None:
    """The first check that is repeated and gets a wrong answer, or makes memory grow too much.

    Memory has to grow too much in each of `GROWTH_ROUNDS` rounds: several worker processes each
    fill a heap in the first round, and a server that keeps what it gets grows again.
    """
    for check, sample in workload.checked():
        if check.growth_mib_max is None:
            continue
        for _ in range(GROWTH_ROUNDS):
            before_bytes = host.usage(process).memory_bytes
            for _ in range(check.repeat):
                fault = _answer_fault(host, address, sample, deadline_s)
                if fault is not None:
                    return _described(workload, check.about, sample, fault)
            growth_mib = (host.usage(process).memory_bytes - before_bytes) / (1 << 20)
            if growth_mib <= check.growth_mib_max:
                break
        else:
            fault = (
                f"its memory grew by {growth_mib:.0f} MiB, "
                f"expected {check.growth_mib_max} MiB or less"
            )
            return _described(workload, check.about, sample, fault)
    return None


def _answer_fault(
    host: Host, address: tuple[str, int], sample: Sample, deadline_s: float
) -> str | None:
    begun_s = host.now_s()
    answer = ask_payload(host, address, sample.payload("Connection: close"), deadline_s)
    took_s = host.now_s() - begun_s
    if answer.first is None and answer.unreadable is not None:
        return answer.unreadable
    fault = sample_fault(sample, answer.first)
    if fault is None and took_s * 1000 < sample.after_ms:
        return (
            f"expected the answer after {sample.after_ms:g} ms or more, "
            f"got it after {took_s * 1000:.1f} ms"
        )
    return fault


def _described(workload: Workload, about: str, sample: Sample, fault: str) -> str:
    return f"workload {workload.name}, {about}: {sample.method} {sample.path}: {fault}"


def sample_fault(sample: Sample, response: Response | None) -> str | None:
    """What is wrong with the answer to one request of a workload; None if it is right."""
    if response is None:
        return "no readable HTTP response"
    media_type = response.headers.get("content-type", "")
    return sample.fault(response.status, media_type, response.body)


def _requests(workload: Workload) -> Iterator[tuple[str, Sample]]:
    """All that is sent, each with what it tries."""
    for sample in workload.samples(SAMPLES if workload.variables else 1):
        yield "as loaded", sample
    yield from workload.hostile()
