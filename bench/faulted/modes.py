"""What deadheat has to say about each mode of `moody.py` and of `moody_transports.py`.

Of the first, `deadheat verify --load`; a test races two more. Of the others, a race
(`transports.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of the inspection, and words that its fault or its cautions have."""

    state: str
    words: str = ""


FAILS, NOTE, WORKS = "fails", "works, with a note", "works"
VERDICTS: Mapping[str, Verdict] = {
    "good": Verdict(WORKS),
    "503 later": Verdict(FAILS, "status"),
    "one 500 in 5": Verdict(FAILS, "status"),
    "302 later": Verdict(FAILS, "status"),
    "204 later": Verdict(FAILS, "status"),
    "wrong body later": Verdict(FAILS, "body_mismatch"),
    "one wrong byte in 5": Verdict(FAILS, "body_mismatch"),
    "empty body later": Verdict(FAILS, "body_length"),
    "longer body later": Verdict(FAILS, "body_length"),
    "growing body": Verdict(FAILS, "body_length"),
    "wrong type later": Verdict(FAILS, "content_type"),
    "two types later": Verdict(FAILS, "malformed"),
    "two lengths later": Verdict(FAILS, "malformed"),
    "no HTTP later": Verdict(FAILS, "malformed"),
    "bad chunk later": Verdict(FAILS, "malformed"),
    "bad trailer later": Verdict(FAILS, "malformed"),
    "two answers later": Verdict(FAILS, "unsolicited"),
    "pushed answers later": Verdict(FAILS, "unsolicited"),
    "close that does not come": Verdict(FAILS, "unclosed"),
    "cut answers later": Verdict(NOTE, "eof_mid_body"),
    "resets later": Verdict(NOTE, "reset"),
    "closes without an answer": Verdict(NOTE, "eof_on"),
    "stops answering": Verdict(NOTE, "connections"),
    "answers in drops": Verdict(NOTE, "connections"),
    "replaces its worker": Verdict(NOTE, "errors at"),
    "hangs": Verdict(NOTE, "connections"),
    "stops itself": Verdict(NOTE, "connections"),
    "dies": Verdict(NOTE, "it died at"),
    "aborts": Verdict(NOTE, "it died at"),
    "leaks": Verdict(NOTE, "memory_limit"),
    "forks": Verdict(NOTE, "process_limit"),
    "spins when idle": Verdict(NOTE, "of a CPU while no request comes"),
    "fast for the first 2 s": Verdict(WORKS),  # only a race sees it, below
    "dies while frozen": Verdict(WORKS),
}


@dataclass(frozen=True, slots=True)
class RaceVerdict:
    """Over which transports a mode is raced, and a pattern of what the race says.

    Without a pattern, the server does nothing wrong: no request fails. `server_mode` is the mode
    of the server, if that has another name. `is_lasting`: it never answers right again.
    """

    words: str | None
    transports: tuple[str, ...] = ("h2", "h2c")
    server_mode: str | None = None
    is_lasting: bool = True


TLS, HTTP_2, ALL = ("https", "h2"), ("h2", "h2c"), ("https", "h2", "h2c")
CUT = "eof_|tls_truncated|reset"  # a close is a reset if requests were not read
LATE = "timeout_|unfinished|served"  # the gate, if no request began in the window
DIED = "exit 7|signal 6|SIGABRT"
OTHER_CERTIFICATE = "another certificate"
RACE_VERDICTS: Mapping[str, RaceVerdict] = {
    # Answers, as `moody.py` has them.
    "503 later": RaceVerdict("status", ALL),
    "one 500 in 5": RaceVerdict("status", ALL),
    "302 later": RaceVerdict("status", ALL),
    "204 later": RaceVerdict("status", ALL),
    "wrong body later": RaceVerdict("body_mismatch", ALL),
    "one wrong byte in 5": RaceVerdict("body_mismatch", ALL),
    "empty body later": RaceVerdict("body_length", ALL),
    "longer body later": RaceVerdict("body_length", ALL),
    "growing body": RaceVerdict("body_length", ALL),
    "wrong type later": RaceVerdict("content_type", ALL),
    "two types later": RaceVerdict("malformed", ALL),
    "two lengths later": RaceVerdict("malformed", ALL),
    "no HTTP later": RaceVerdict("malformed", ("https",)),
    "bad chunk later": RaceVerdict("malformed", ("https",)),
    "bad trailer later": RaceVerdict("malformed", ("https",)),
    "pushed answers later": RaceVerdict("unsolicited", ("https",)),
    "close that does not come": RaceVerdict("unclosed", ("https",)),
    "two answers later": RaceVerdict("unsolicited|malformed", ALL),
    "cut answers later": RaceVerdict(CUT, ALL),
    "resets later": RaceVerdict("reset", ALL),
    "closes without an answer": RaceVerdict(CUT, ALL),
    "stops answering": RaceVerdict(LATE, ALL),
    "hangs": RaceVerdict(LATE, ALL),
    "stops itself": RaceVerdict(LATE, ALL),
    "dies": RaceVerdict(DIED, ALL, is_lasting=False),
    "aborts": RaceVerdict(DIED, ALL, is_lasting=False),
    # TLS, and what new connections get.
    "TLS 1.2 alone": RaceVerdict(None, TLS),
    "no close_notify": RaceVerdict(None, ("https",)),
    "renewed certificate": RaceVerdict(None, TLS, OTHER_CERTIFICATE),
    "expired certificate": RaceVerdict("tls_expired|expired", TLS, OTHER_CERTIFICATE),
    "certificate for another name": RaceVerdict("tls_wrong_name", TLS, OTHER_CERTIFICATE),
    "certificate of another issuer": RaceVerdict("tls_unknown_issuer", TLS, OTHER_CERTIFICATE),
    "plain HTTP on the port": RaceVerdict("not_tls", TLS),
    "handshake that never ends": RaceVerdict("tls_timeout|unfinished|served", TLS),
    "closes in the handshake": RaceVerdict("tls_closed", TLS),
    "TLS 1.1 alone": RaceVerdict("tls_version", TLS),
    "wants a certificate": RaceVerdict("tls_alert", TLS),
    "noise in TLS": RaceVerdict("tls_broken", TLS),
    "HTTP/2 unasked": RaceVerdict("malformed", ("https",)),
    "other protocol by ALPN": RaceVerdict("tls_alpn|malformed", ("h2",)),
    "TLS on the port": RaceVerdict("malformed", ("h2c",)),
    "HTTP/1.1 again": RaceVerdict("malformed", ("h2c",)),
    # What a server may do in HTTP/2.
    "padding and CONTINUATION": RaceVerdict(None),
    "interim responses": RaceVerdict(None),
    "trailers": RaceVerdict(None),
    "fields in the table": RaceVerdict(None),
    "PING with each answer": RaceVerdict(None),
    "SETTINGS with each answer": RaceVerdict(None),
    "no window for bodies": RaceVerdict(None),
    "unknown frames": RaceVerdict(None),
    "PRIORITY frames": RaceVerdict(None),
    "one byte at a time": RaceVerdict(None),
    "GOAWAY now and then": RaceVerdict(None),
    "GOAWAY that returns requests": RaceVerdict(None),
    # What it may not do, or what no load survives.
    "SETTINGS that shrink": RaceVerdict("little_law"),
    "no streams any more": RaceVerdict("served|little_law"),
    "streams that never end": RaceVerdict(LATE),
    "resets every stream": RaceVerdict("stream_reset"),
    "refuses every stream": RaceVerdict("stream_reset|refused"),
    "resets after the head": RaceVerdict("stream_reset"),
    "GOAWAY with an error": RaceVerdict("goaway"),
    "returns every request": RaceVerdict("goaway"),
    **{
        mode: RaceVerdict("malformed")
        for mode in (
            *("data after the end", "body without a head", "no status", "names in upper case"),
            *("field of a connection", "wrong content-length", "endless CONTINUATION"),
            *("bad HPACK", "interrupted head", "interim flood", "PING flood", "SETTINGS flood"),
            *("empty DATA flood", "window that grows by 0", "window that is too large"),
            *("frame that is too long", "PUSH_PROMISE", "answer on an even stream"),
            *("answer to no request", "padding longer than its frame"),
            *("forbidden setting", "SETTINGS of five bytes", "HTTP/1.1 in the middle", "noise"),
        )
    },
}
