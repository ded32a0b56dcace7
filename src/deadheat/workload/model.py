"""What `workloads/NAME.toml` may say: requests, and what a right answer is, as data; and as text.

Texts have placeholders, by the rules of the load engine (`engine/src/workload/text.rs`).
"""

import random
import re
import string
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from deadheat import numbers
from deadheat.catalog.manifest import HTTP, TRANSPORTS, Name, Strict, Text, Texts, Transport
from deadheat.workload.sample import SampleRequest

if TYPE_CHECKING:
    from deadheat.load.base import EngineWorkload

HELLO = "hello"
# A brace that does not begin `{name}` is a part of the text, so JSON needs no escapes.
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_.]*)\}")
BODY_PROPERTIES = ("body.length", "body.crc32")
DRAWS_MAX = 65_536
LETTERS_MAX = 4 << 20
BODY_BYTES_MAX = 256 << 20  # of all requests that are drawn

VariableName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Values = Mapping[str, str]
BODY_SHOWN_CHARS = 400


def over(name: str, transport: Transport) -> str:
    """The name of a workload or a contender over a transport, such as `hello:https`.

    Over plain HTTP it is its own.
    """
    return name if transport == HTTP else f"{name}:{transport}"


def parts_of(name: str) -> tuple[str, Transport]:
    """The name without its transport, and the transport: what `over` joined."""
    before, _, after = name.rpartition(":")
    transport = next((each for each in TRANSPORTS if each == after and before), HTTP)
    return (name, HTTP) if transport == HTTP else (before, transport)


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """Levels order by workload, then by connections, then by the offered rate; 0: closed loop.

    A workload over another transport than plain HTTP is named with it, such as `hello:https`.
    """

    workload: str
    connections: int
    offered_rate_per_s: float = 0.0

    def __str__(self) -> str:
        """`100 connections`; with a workload that is not the default, `route, 100 connections`."""
        noun = "connection" if self.connections == 1 else "connections"
        rate_per_s = self.offered_rate_per_s
        offered = f", {numbers.rate(rate_per_s)} requests/s" if rate_per_s else ""
        return f"{self._prefix}{self.connections:,} {noun}{offered}"

    @property
    def short(self) -> str:
        """`100`, or `route, 100`."""
        return f"{self._prefix}{self.connections}"

    @property
    def _prefix(self) -> str:
        return "" if self.workload == HELLO else f"{self.workload}, "


def variables_in(text: str) -> list[str]:
    """The names in a text, in order."""
    return _PLACEHOLDER.findall(text)


def fill(text: str, values: Mapping[str, str], body: bytes = b"") -> str:
    """The text with these values; `body` is the request's.

    `{body.length}` is its number of bytes, `{body.crc32}` its CRC-32 as eight hexadecimal digits.
    """
    of_body = {"body.length": str(len(body)), "body.crc32": f"{zlib.crc32(body):08x}"}
    known = {**values, **of_body}
    return _PLACEHOLDER.sub(lambda match: known[match.group(1)], text)


def _path(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("expected a path that begins with /")
    if any(not 0x21 <= ord(sign) <= 0x7E for sign in value):
        raise ValueError("expected blanks and other than ASCII characters as %XX")
    return value


def _header(value: str) -> str:
    if any(ord(sign) < 0x20 or ord(sign) > 0x7E for sign in value):
        raise ValueError("expected one line of ASCII characters")
    return value


HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
Headers = dict[HeaderName, Annotated[str, AfterValidator(_header)]]


class Variable(Strict):
    """Where the values of a variable come from: whole numbers, texts, or random letters."""

    min: int | None = Field(default=None, ge=0, le=2**63 - 1)
    max: int | None = Field(default=None, ge=0, le=2**63 - 1)
    one_of: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)] | None = None
    letters: int | None = Field(default=None, ge=1, le=LETTERS_MAX)  # how many

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        numbers = self.min is not None and self.max is not None and self.min <= self.max
        kinds = [self.min is not None or self.max is not None, self.one_of, self.letters]
        if sum(bool(kind) for kind in kinds) != 1 or (kinds[0] and not numbers):
            raise ValueError(
                "expected { min = A, max = B } with A <= B, { one_of = [...] } or { letters = N }"
            )
        return self

    def draw(self, source: random.Random) -> str:
        if self.one_of is not None:
            return source.choice(self.one_of)
        if self.letters is not None:
            return "".join(source.choices(string.ascii_lowercase, k=self.letters))
        return str(source.randint(self.min or 0, self.max or 0))


class Expect(Strict):
    """What a right answer is. None: that part is not checked."""

    model_config = ConfigDict(serialize_by_alias=True)

    status: int = Field(default=200, ge=200, le=599)
    media_type: Text | None = None
    body: str | None = None  # a template, as the next two: the bytes
    json_: str | None = Field(default=None, alias="json")  # the value, in any spelling
    html: str | None = None  # the document, in any legal spelling of escapes
    after_ms: float = Field(default=0, ge=0, le=60_000)  # not earlier; verification checks it

    @model_validator(mode="after")
    def _has_one_body(self) -> Self:
        if len(self.templates) > 1:
            raise ValueError("expected one of body, json and html")
        return self

    @property
    def templates(self) -> dict[str, str]:
        """What is expected of the body, by key: one at most."""
        given = {"body": self.body, "json": self.json_, "html": self.html}
        return {key: text for key, text in given.items() if text is not None}


class Request(Strict):
    """A request from a template: `{name}` stands for the value of a variable."""

    method: HeaderName | None = None  # None: GET, or POST with a body
    path: Annotated[str, AfterValidator(_path)]  # a template
    headers: Headers = Field(default={})
    body: str | None = None  # a template
    expect: Expect = Expect()

    @property
    def verb(self) -> str:
        return self.method or ("GET" if self.body is None else "POST")

    def sample(self, values: Values) -> SampleRequest:
        """The request with these values."""
        body = fill(self.body or "", values).encode()
        expected = {key: fill(text, values, body) for key, text in self.expect.templates.items()}
        return SampleRequest(
            method=self.verb,
            path=fill(self.path, values),
            headers=tuple(self.headers.items()),
            body=body,
            status=self.expect.status,
            media_type=self.expect.media_type,
            after_ms=self.expect.after_ms,
            expected_body=expected["body"].encode() if "body" in expected else None,
            expected_json=expected.get("json"),
            expected_html=expected.get("html"),
        )


class VerificationRequest(Request):
    """One request that only verification sends: a hostile or unusual one."""

    about: Text
    variables: dict[VariableName, Variable] = Field(default={})  # of this check alone
    repeat: int = Field(default=1, ge=1, le=1000)  # sent so often by `verify`, in turn
    growth_mib_max: int | None = Field(default=None, ge=1)  # of its memory, over all of these


class WorkloadDatabase(Strict):
    """The database that a server of the workload gets, by its environment."""

    engine: Literal["postgresql"]
    seed: Text  # SQL, run once by the user who owns the database


class Workload(Strict):
    """One file of `workloads/`."""

    name: Name
    about: Text
    purpose: Text | None = None
    rules: Texts = ()
    close: bool = False  # open a new connection for each request
    draws: int = Field(default=1, ge=1, le=DRAWS_MAX)  # requests drawn from each template
    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    database: WorkloadDatabase | None = None
    variables: dict[VariableName, Variable] = Field(default={})
    requests: Annotated[tuple[Request, ...], Field(min_length=1, max_length=100, strict=False)]
    checks: Annotated[tuple[VerificationRequest, ...], Field(strict=False)] = ()

    def samples(self, count: int = 1) -> list[SampleRequest]:
        """`count` requests of each template; the same ones on each call."""
        source = random.Random(self.seed)
        drawn = [_draw(self.variables, source) for _ in range(count)]
        return [request.sample(values) for values in drawn for request in self.requests]

    def checked(self) -> list[tuple[VerificationRequest, SampleRequest]]:
        """Each check with its request."""
        source = random.Random(self.seed)
        return [
            (check, check.sample(_draw(self.variables | check.variables, source)))
            for check in self.checks
        ]

    def same_requests(self, other: "Workload") -> bool:
        """Whether only words differ, so that rates on both can be compared."""
        return self.without_words == other.without_words

    @property
    def without_words(self) -> "Workload":
        return self.model_copy(update={"about": self.name, "purpose": None, "rules": ()})

    def for_engine(self) -> "EngineWorkload":
        return {
            "name": self.name,
            "draws": self.draws,
            "seed": self.seed,
            "variables": {
                name: each.model_dump(exclude_none=True) for name, each in self.variables.items()
            },
            "requests": [
                each.model_dump(exclude_none=True, exclude={"expect": {"after_ms"}})
                for each in self.requests
            ],
        }

    @model_validator(mode="after")
    def _has_its_variables(self) -> Self:
        for number, request in enumerate((*self.requests, *self.checks)):
            known = set(self.variables)
            place = f"requests[{number}]"
            if isinstance(request, VerificationRequest):
                known |= set(request.variables)
                place = f"check {request.about!r}"
            _require_known(f"{place}.path", request.path, known)
            _require_known(f"{place}.body", request.body or "", known)
            for key, text in request.expect.templates.items():
                _require_known(f"{place}.expect.{key}", text, known | set(BODY_PROPERTIES))
        return self

    @model_validator(mode="after")
    def _fits_into_memory(self) -> Self:
        size_bytes = self.draws * sum(
            len(sample.body) + len(sample.shown_body or b"") for sample in self.samples()
        )
        if size_bytes > BODY_BYTES_MAX:
            raise ValueError(
                f"draws = {self.draws}: all bodies have {size_bytes >> 20} MiB, "
                f"expected at most {BODY_BYTES_MAX >> 20} MiB: draw fewer"
            )
        return self


def _require_known(place: str, text: str, known: set[str]) -> None:
    for name in variables_in(text):
        if name in BODY_PROPERTIES and name not in known:
            raise ValueError(f"{place}: {{{name}}} belongs into expect.body")
        if name not in known:
            raise ValueError(f"{place}: unknown variable {{{name}}}: not in [variables]")


def _draw(variables: Mapping[str, Variable], source: random.Random) -> dict[str, str]:
    return {name: variable.draw(source) for name, variable in variables.items()}


def wire(workload: Workload) -> str:
    """The workload in Markdown; docs/workloads.md consists of these."""
    return "\n".join(_lines(workload)) + "\n"


def _lines(workload: Workload) -> Iterator[str]:
    yield from (f"## {workload.name}", "", f"{workload.about.rstrip('.')}.", "")
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
        for check, sample in workload.checked():
            body = f" `{_cut(sample.shown_body)}`" if sample.shown_body is not None else ""
            yield f"| `{_request(sample)}` | {check.about} | {sample.status}{body} |"
        yield ""


def _exchange(sample: SampleRequest) -> Iterator[str]:
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


def _request(sample: SampleRequest) -> str:
    body = f" with {len(sample.body):,} bytes" if sample.body else ""
    return f"{sample.method} {sample.path}{body}"


def _cut(data: bytes | None) -> str:
    text = (data or b"").decode(errors="replace")
    return text if len(text) <= BODY_SHOWN_CHARS else f"{text[:BODY_SHOWN_CHARS]}..."
