"""Reads the requests of a HAR file, as browsers and proxies write it (HTTP Archive 1.2)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.foreign_file import read_bytes
from deadheat.inflate import parse
from deadheat.workload.recorded import Recorded

BYTES_MAX = 32 << 20
HINT = "save it anew in the browser's developer tools: Network, then Save all as HAR"


def read_har(path: Path) -> list[Recorded]:
    """Its requests by http and https, in their order. Raises `DeadheatError` for another file."""
    try:
        document = parse(read_bytes(path, BYTES_MAX))
        entries = document["log"]["entries"]
        recorded = [_recorded(entry["request"], entry.get("response") or {}) for entry in entries]
    except OSError as error:
        raise DeadheatError(f"{path}: {error.strerror}", "check the path") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeadheatError(f"{path}: expected a HAR file: {_why(error)}", HINT) from error
    kept = [each for each in recorded if each.url.lower().startswith(("http://", "https://"))]
    if not kept:
        raise DeadheatError(f"{path}: expected requests by http, got none", HINT)
    return kept


def _why(error: Exception) -> str:
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
