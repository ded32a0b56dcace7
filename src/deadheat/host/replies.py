"""Reads the lines of an agent. Its host may be anyone's, so any bytes may come."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from deadheat.errors import DeadheatError

LINE_BYTES_MAX = 64 << 20  # an answer of a load process has at most 16 MiB, and JSON escapes it
BANNER_BYTES_MAX = 1 << 16  # what login shells print before the agent begins
GREETING = 0  # the id of the first reply
SHOWN_CHARS = 60


class BadReply(DeadheatError):
    """A line that no agent writes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request with this number; `error` has `message` and `hint`."""

    number: int
    ok: Any = None
    error: dict[str, str | None] | None = None


def replies(lines: Iterable[bytes], banner: list[str]) -> Iterator[Reply]:
    """Each reply. Lines before the greeting that are none go into `banner`.

    Raises `BadReply` for any other line that is no reply, and for a banner that is too long.
    """
    greeted = False
    banner_bytes = 0
    for line in lines:
        try:
            reply = parse(line)
            if not greeted and reply.number != GREETING:
                raise BadReply(f"a reply before the greeting: {_shown(line)}")
        except BadReply:
            banner_bytes += len(line)
            if greeted or banner_bytes > BANNER_BYTES_MAX:
                raise
            banner.append(line.decode(errors="replace"))
            continue
        greeted = True
        yield reply


def lines_of(stream: IO[bytes], bytes_max: int = LINE_BYTES_MAX) -> Iterator[bytes]:
    """The lines of a stream. Raises `BadReply` for one that is too long."""
    while line := stream.readline(bytes_max + 1):
        if len(line) > bytes_max:
            raise BadReply(f"a line of more than {bytes_max:,} bytes")
        yield line


def parse(line: bytes) -> Reply:
    """Raises `BadReply`."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadReply(f"no reply of an agent: {_shown(line)}") from error
    if not isinstance(answer, dict) or type(answer.get("id")) is not int:
        raise BadReply(f"no reply of an agent: {_shown(line)}")
    if ("ok" in answer) == ("error" in answer):
        raise BadReply(f"a reply without a result: {_shown(line)}")
    if "ok" in answer:
        return Reply(answer["id"], ok=answer["ok"])
    failure = answer["error"]
    if not isinstance(failure, dict) or not isinstance(failure.get("message"), str):
        raise BadReply(f"an error without a message: {_shown(line)}")
    hint = failure.get("hint")
    if hint is not None and not isinstance(hint, str):
        raise BadReply(f"an error with a hint that is no text: {_shown(line)}")
    return Reply(answer["id"], error={"message": failure["message"], "hint": hint})


def _shown(line: bytes) -> str:
    return repr(line[: 4 * SHOWN_CHARS].decode(errors="replace").rstrip()[:SHOWN_CHARS])
