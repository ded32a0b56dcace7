"""A workload as text: what it is for, its rules, and its requests and answers on the wire."""

from collections.abc import Iterator

from deadheat.workload.model import Workload
from deadheat.workload.sample import Sample

BODY_SHOWN_CHARS = 400


def wire(workload: Workload) -> str:
    """The workload in Markdown; docs/workloads.md consists of these."""
    return "\n".join(_lines(workload)) + "\n"


def _lines(workload: Workload) -> Iterator[str]:
    yield from (f"## {workload.name}", "", f"{workload.about}.", "")
    if workload.purpose:
        yield from (workload.purpose.strip(), "")
    yield from (f"- {rule}" for rule in workload.rules)
    if workload.rules:
        yield ""
    for sample in workload.samples():
        yield from _exchange(sample)
    if workload.draws > 1:
        names = ", ".join(f"`{name}`" for name in workload.variables)
        yield from (f"{workload.draws:,} such requests, with other values of {names}.", "")
    if workload.checks:
        yield from ("`deadheat verify` also sends:", "")
        yield from ("| request | what it tries | answer |", "| --- | --- | --- |")
        for about, sample in workload.hostile():
            body = f" `{_cut(sample.shown_body)}`" if sample.shown_body is not None else ""
            yield f"| `{_request(sample)}` | {about} | {sample.status}{body} |"
        yield ""


def _exchange(sample: Sample) -> Iterator[str]:
    yield "```http"
    yield from _cut(sample.payload()).replace("\r\n", "\n").rstrip("\n").split("\n")
    wait = f", after {sample.after_ms:g} ms or more" if sample.after_ms else ""
    yield from ("```", "", f"The answer{wait}:", "", "```http", f"HTTP/1.1 {sample.status}")
    if sample.media_type is not None:
        yield f"Content-Type: {sample.media_type}"
    if sample.shown_body is not None:
        yield from (f"Content-Length: {len(sample.shown_body)}", "")
        yield _cut(sample.shown_body)
    yield from ("```", "")


def _request(sample: Sample) -> str:
    body = f" with {len(sample.body):,} bytes" if sample.body else ""
    return f"{sample.method} {sample.path}{body}"


def _cut(data: bytes | None) -> str:
    text = (data or b"").decode(errors="replace")
    return text if len(text) <= BODY_SHOWN_CHARS else f"{text[:BODY_SHOWN_CHARS]}..."
