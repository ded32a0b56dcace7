"""Recorded requests as the text of a workload file, without what looks secret."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from deadheat.workload.secret import body_without_secrets, is_secret_value, without_secrets
from deadheat.workload.text import BODY_PROPERTIES, variables_in

REQUESTS_MAX = 100
# What the load engine sends itself, what a browser adds, and what makes an answer another one.
NOT_SENT = re.compile(
    r"(?i)^(:.*|host|content-length|connection|keep-alive|transfer-encoding|te|trailer|upgrade.*"
    r"|accept-encoding|if-.*|cache-control|pragma|range|sec-.*|dnt|priority|referer|origin"
    r"|user-agent|proxy-.*|x-forwarded-.*|forwarded|via|expect)$"
)
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PATH_SAFE = "/%:@!$&'()*+,;=~-._"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it was recorded. `status` and `media_type` are of its answer."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: str | None = None
    status: int = 200
    media_type: str | None = None


@dataclass
class Imported:
    """A workload as text, what was removed from its requests, and which requests were left out."""

    text: str = ""
    requests: int = 0
    origin: str = ""
    removed: Counter[str] = field(default_factory=Counter)  # requests by what was removed
    left_out: Counter[str] = field(default_factory=Counter)  # requests by the reason


def workload_text(name: str, source: str, recorded: Sequence[Recorded]) -> Imported:
    """The requests to the origin that most of them go to, each once, as a workload file."""
    imported = Imported()
    origins = Counter(_origin(each.url) for each in recorded)
    imported.origin = origins.most_common(1)[0][0] if origins else ""
    variables: dict[str, str] = {}
    parts: dict[str, None] = {}
    for each in recorded:
        if _origin(each.url) != imported.origin:
            imported.left_out[f"not to {imported.origin}"] += 1
            continue
        part = _request(each, imported, variables)
        if part is None:
            continue
        if part in parts:
            imported.left_out["the same as another one"] += 1
        elif len(parts) >= REQUESTS_MAX:
            imported.left_out[f"more than {REQUESTS_MAX} requests"] += 1
        else:
            parts[part] = None
    lines = [f"name = {_toml(name)}", f"about = {_toml(f'Imported from {source}')}", ""]
    if variables:
        lines += ["[variables]", *(f"{v} = {{ one_of = [{t}] }}" for v, t in variables.items()), ""]
    imported.requests = len(parts)
    imported.text = "\n".join([*lines, *parts])
    return imported


def _origin(url: str) -> str:
    """Scheme, host and port, without a user's name and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _request(each: Recorded, imported: Imported, variables: dict[str, str]) -> str | None:
    """One `[[requests]]`; None if it cannot be kept."""
    parts = urlsplit(each.url)
    if any(is_secret_value(segment) for segment in parts.path.split("/")):
        imported.left_out["a path with what looks like a token"] += 1
        return None
    if not HEADER.fullmatch(each.method) or not 200 <= each.status <= 599:
        imported.left_out["without a method or a status that a workload can have"] += 1
        return None
    body = each.body
    fields: list[str] = []
    if body is not None:
        sent_type = next((v for n, v in each.headers if n.lower() == "content-type"), "")
        body, fields = body_without_secrets(body, sent_type.lower())
        if body is None:
            imported.left_out["a body with what looks like a secret"] += 1
            return None
        if set(variables_in(body)) & set(BODY_PROPERTIES):
            imported.left_out["a body with {body.length} or {body.crc32}"] += 1
            return None
    query, parameters = without_secrets(parse_qsl(parts.query, keep_blank_values=True))
    sendable = [(n, v) for n, v in each.headers if not NOT_SENT.match(n) and HEADER.fullmatch(n)]
    kept, secret = without_secrets(sendable)
    headers = {n: v for n, v in kept if all(0x20 <= ord(sign) <= 0x7E for sign in v)}
    if parts.netloc.rpartition("@")[1]:
        imported.removed["the user and password of the URL"] += 1
    imported.removed.update({f"header {n.title()}" for n in secret})
    imported.removed.update({f"query parameter {n}" for n in parameters})
    imported.removed.update({f"field {n} of the body" for n in fields})
    path = quote(parts.path or "/", safe=PATH_SAFE)
    if query or (parts.query and not parameters):
        path += f"?{urlencode(query) if parameters else quote(parts.query, safe=PATH_SAFE + '?')}"
    for variable in variables_in(body or ""):
        variables[variable] = _toml(f"{{{variable}}}")  # the text has it as it is
    expect = [f"status = {each.status}"]
    if each.media_type:
        expect.append(f"media_type = {_toml(each.media_type)}")
    lines = ["[[requests]]", f"method = {_toml(each.method)}", f"path = {_toml(path)}"]
    if headers:
        pairs = ", ".join(f"{_toml(name)} = {_toml(value)}" for name, value in headers.items())
        lines.append(f"headers = {{ {pairs} }}")
    if body is not None:
        lines.append(f"body = {_toml(body)}")
    return "\n".join([*lines, f"expect = {{ {', '.join(expect)} }}", ""])


def _toml(text: str) -> str:
    """A basic string of TOML, which is that of JSON but for one sign."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
