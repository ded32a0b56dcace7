"""Reads a curl command, as browsers copy it."""

import re
import shlex
from collections.abc import Iterator
from urllib.parse import quote

from deadheat.errors import DeadheatError
from deadheat.workload.recorded import Recorded

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
