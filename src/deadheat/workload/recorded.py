"""Recorded requests as a workload file, without what looks secret: of a HAR file, or of a curl
command, as browsers copy it.
"""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from deadheat.errors import DeadheatError, UsageFault
from deadheat.foreign_text import read_bytes
from deadheat.inflate import parse
from deadheat.workload.model import BODY_PROPERTIES, variables_in

REMOVED = "removed"
_SECRET_NAME = re.compile(
    r"(?i)cookie|auth|token|secret|passw|pwd|api[-_]?key|access[-_]?key|private[-_]?key|session"
    r"|csrf|xsrf|jwt|signature|credential|\bsid\b|\bsig\b|\bkey\b|\bcode\b|\botp\b"
)
# A JSON web token, a bearer or basic credential, a key of a known service, or a long random word.
_SECRET_VALUE = re.compile(
    r"\beyJ[\w-]{8,}\.|(?i:\b(?:bearer|basic)\s+\S{8,})|\b(?:ghp|gho|ghs|glpat|xox[abps]|sk|pk|AKIA)"
    r"[_-]?[A-Za-z0-9_-]{16,}|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b"
)
REQUESTS_MAX = 100
# What the load engine sends itself, what a browser adds, and what makes an answer another one.
NOT_SENT = re.compile(
    r"(?i)^(:.*|host|content-length|connection|keep-alive|transfer-encoding|te|trailer|upgrade.*"
    r"|accept-encoding|if-.*|cache-control|pragma|range|sec-.*|dnt|priority|referer|origin"
    r"|user-agent|proxy-.*|x-forwarded-.*|forwarded|via|expect)$"
)
# The headers that are kept whatever they hold. Nobody can tell a key in a header of one's own.
SAFE_HEADER = re.compile(
    r"(?i)^(accept|accept-(language|charset|datetime|patch|post)|content-(type|language|encoding)"
    r"|x-requested-with|user-agent|prefer|depth|destination|overwrite|allow|link|date|from"
    r"|last-event-id|soapaction|x-http-method-override|grpc-.*|apollo-.*)$"
)
SECRET_CHARS_MIN = 8  # shorter values, such as versions and languages, hold no key
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PATH_SAFE = "/%:@!$&'()*+,;=~-._"
HAR_BYTES_MAX = 32 << 20
HAR_HINT = "save it anew in the browser's developer tools: Network, then Save all as HAR"


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
    origins = Counter(filter(None, (_origin(each.url) for each in recorded)))
    imported.origin = origins.most_common(1)[0][0] if origins else ""
    variables: dict[str, str] = {}
    parts: dict[str, None] = {}
    for each in recorded:
        if (origin := _origin(each.url)) != imported.origin or not origin:
            reason = f"not to {imported.origin}" if origin else "a URL that cannot be read"
            imported.left_out[reason] += 1
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
    """Scheme, host and port, without a user's name and password; empty if they cannot be read."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
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
    unusual = [n for n, v in kept if not SAFE_HEADER.match(n) and len(v) >= SECRET_CHARS_MIN]
    kept = [(n, v) for n, v in kept if n not in unusual]
    secret += unusual
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


def read_har(path: Path) -> list[Recorded]:
    """Its requests by http and https, in their order. Raises `DeadheatError` for another file."""
    try:
        document = parse(read_bytes(path, HAR_BYTES_MAX))
        _require_unicode(document)
        entries = document["log"]["entries"]
        recorded = [_recorded(entry["request"], entry.get("response") or {}) for entry in entries]
    except OSError as error:
        raise UsageFault(f"{path}: {error.strerror}", "check the path") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageFault(f"{path}: expected a HAR file: {_fault_of(error)}", HAR_HINT) from error
    kept = [each for each in recorded if each.url.lower().startswith(("http://", "https://"))]
    if not kept:
        raise UsageFault(f"{path}: expected requests by http, got none", HAR_HINT)
    return kept


def _require_unicode(value: Any) -> None:
    """Raises `ValueError` for a text with half a surrogate pair, which no file can hold."""
    values = [value]
    for each in values:
        if isinstance(each, str):
            each.encode()
        elif isinstance(each, dict):
            values += [*each, *each.values()]
        elif isinstance(each, list):
            values += each


def _fault_of(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"a text has half a surrogate pair: {ascii(error.object)[:60]}"
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)[:200]


def _recorded(request: Mapping[str, Any], response: Mapping[str, Any]) -> Recorded:
    posted = request.get("postData") or {}
    text = posted.get("text")
    headers = [(str(h["name"]), str(h["value"])) for h in request.get("headers") or ()]
    if text is not None and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", str(posted.get("mimeType", ""))))
    media_type = str((response.get("content") or {}).get("mimeType") or "").split(";")[0].strip()
    known = "/" in media_type and media_type.lower() != "x-unknown"
    status = response.get("status")
    return Recorded(
        method=str(request["method"]).upper(),
        url=str(request["url"]),
        headers=headers,
        body=None if text is None else str(text),
        status=status if isinstance(status, int) and status else 200,
        media_type=media_type if known else None,
    )


def is_secret_name(name: str) -> bool:
    """Whether a header, a parameter or a key with this name may hold a secret."""
    return _SECRET_NAME.search(name) is not None


def is_secret_value(value: str) -> bool:
    """Whether a text has a token in it."""
    return _SECRET_VALUE.search(value) is not None


def without_secrets(pairs: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs that hold no secret, and the names of the others."""
    kept = [(n, v) for n, v in pairs if not is_secret_name(n) and not has_secret(v)]
    return kept, [name for name, value in pairs if (name, value) not in kept]


def body_without_secrets(body: str, media_type: str) -> tuple[str | None, list[str]]:
    """The body without secrets, and the names of the fields that were changed.

    Values of JSON and fields of a form are replaced or removed. None for a body of another kind
    that looks like it holds a secret.
    """
    if "json" in media_type:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return (None, []) if _suspicious(body) else (body, [])
        names: list[str] = []
        cleaned = _cleaned(value, names)
        return (json.dumps(cleaned, ensure_ascii=False) if names else body), names
    if "x-www-form-urlencoded" in media_type:
        pairs = parse_qsl(body, keep_blank_values=True)
        kept, names = without_secrets(pairs)
        return (urlencode(kept) if names else body), names
    return (None, []) if _suspicious(body) else (body, [])


def _suspicious(text: str) -> bool:
    return is_secret_name(text) or is_secret_value(text)


def _cleaned(value: Any, names: list[str], name: str = "") -> Any:
    """The value with every secret replaced; notes their names."""
    if isinstance(value, dict):
        cleaned = {}
        for key, inner in value.items():
            if is_secret_name(key) and inner is not None:
                names.append(key)
                cleaned[key] = REMOVED
            else:
                cleaned[key] = _cleaned(inner, names, key)
        return cleaned
    if isinstance(value, list):
        return [_cleaned(inner, names, name) for inner in value]
    if not isinstance(value, str):
        return value
    if (inner := _document_in(value)) is not None:
        inner_names: list[str] = []
        cleaned_inner = _cleaned(inner, inner_names, name)
        names += inner_names
        return json.dumps(cleaned_inner, ensure_ascii=False) if inner_names else value
    if is_secret_value(value):
        names.append(name or "a text")
        return REMOVED
    return value


def _document_in(text: str) -> Any:
    """The object or list that a text is the JSON of; None for another text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse(text)
    except ValueError:
        return None


def has_secret(value: str) -> bool:
    """Whether a header or a parameter has a token in it, or JSON with a secret."""
    if is_secret_value(value):
        return True
    names: list[str] = []
    document = _document_in(value)
    if document is None:
        document = _document_in(unquote(value))
    _cleaned(document, names)
    return bool(names)


HINT = "quote the whole command: --curl 'curl http://127.0.0.1:8080/items'"
DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "--json")
# Options with a value that do not change the request as a workload has it.
IGNORED_WITH_VALUE = (
    *("-o", "--output", "-m", "--max-time", "--connect-timeout", "-w", "--write-out", "--retry"),
    *("-x", "--proxy", "-E", "--cert", "--key", "--cacert", "--capath", "--resolve", "-D"),
    *("--dump-header", "-c", "--cookie-jar", "--limit-rate", "--url-query"),
)
SECRET = {"-b": "Cookie", "--cookie": "Cookie", "-u": "Authorization", "--user": "Authorization"}
SECRET |= {"--oauth2-bearer": "Authorization"}
HEADERS = {
    "-A": "User-Agent",
    "--user-agent": "User-Agent",
    "-e": "Referer",
    "--referer": "Referer",
}
SHORT_WITH_VALUE = "XHdbuAeomwxEDc"
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)


def read_curl(command: str) -> Recorded:
    """The request of a curl command. Raises `DeadheatError` for one that cannot be read."""
    try:
        words = shlex.split(_ANSI_QUOTED.sub(_unquoted, command.replace("\\\n", " ")))
    except ValueError as error:
        raise DeadheatError(f"--curl: the command cannot be read: {error}", HINT) from error
    try:
        command.encode()
        "".join(words).encode()
    except UnicodeEncodeError as error:
        raise DeadheatError("--curl: a text has half a surrogate pair", HINT) from error
    if not words or words[0].rsplit("/", 1)[-1] not in ("curl", "curl.exe"):
        raise DeadheatError("--curl: expected a command that begins with curl", HINT)
    method: str | None = None
    url: str | None = None
    headers: list[tuple[str, str]] = []
    data: list[str] = []
    in_query = False
    for option, value in _options(words[1:]):
        if option == "" or option == "--url":
            if url is not None:
                raise DeadheatError("--curl: expected one URL, got several", HINT)
            url = value
        elif option in ("-X", "--request"):
            method = value.upper()
        elif option in ("-H", "--header"):
            if value.startswith("@"):
                raise DeadheatError(
                    f"--curl: {option} {value[:80]} reads a file",
                    "put the headers themselves into the command",
                )
            name, _, text = value.partition(":")
            headers.append((name.strip(), text.strip()))
        elif option in SECRET:
            headers.append((SECRET[option], value))
        elif option in HEADERS:
            headers.append((HEADERS[option], value))
        elif option in ("-G", "--get"):
            in_query = True
        elif option in ("-I", "--head"):
            method = "HEAD"
        elif option in ("-F", "--form", "-T", "--upload-file", "-K", "--config"):
            raise DeadheatError(
                f"--curl: {option} cannot be imported", "use a HAR file, or write the body yourself"
            )
        elif option in DATA:
            data.append(_data(option, value))
            if option == "--json":
                headers += [("Content-Type", "application/json"), ("Accept", "application/json")]
    if url is None:
        raise DeadheatError("--curl: expected a URL in the command", HINT)
    url = url if "://" in url else f"http://{url}"
    if not url.lower().startswith(("http://", "https://")):
        raise DeadheatError(f"--curl: {url.partition('://')[0]}: expected http or https", HINT)
    body = "&".join(data) if data else None
    if in_query and body is not None:
        url, body = f"{url}{'&' if '?' in url else '?'}{body}", None
    if body is not None and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    return Recorded(
        method=method or ("GET" if body is None else "POST"), url=url, headers=headers, body=body
    )


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each option with its value; a word that is none is the value of ``."""
    known = {"-X", "--request", "-H", "--header", "--url", "-F", "--form", "-T", "--upload-file"}
    with_value = {*known, "-K", "--config", *DATA, *IGNORED_WITH_VALUE, *SECRET, *HEADERS}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            yield "", word
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            yield name, (value if equals else next(rest, "")) if name in with_value else ""
        elif word[1] in SHORT_WITH_VALUE or word[:2] in with_value:
            yield word[:2], word[2:] or next(rest, "")
        else:
            for place, sign in enumerate(word[1:], start=1):  # -sk, and -sXPOST
                if f"-{sign}" in with_value:
                    yield f"-{sign}", word[place + 1 :] or next(rest, "")
                    break
                yield f"-{sign}", ""


def _data(option: str, value: str) -> str:
    if value.startswith("@") and option != "--data-raw":
        raise DeadheatError(
            f"--curl: {option} {value[:80]} reads a file", "put the body itself into the command"
        )
    if option != "--data-urlencode":
        return value
    name, equals, text = value.partition("=")
    return f"{name}={quote(text, safe='')}" if equals else quote(value, safe="")


def _unquoted(match: re.Match[str]) -> str:
    """The shell's $'...' as a plain quoted word."""
    text = match[1].encode("latin-1", "backslashreplace").decode("unicode_escape")
    return shlex.quote(text)
