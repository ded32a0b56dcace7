"""What `deadheat verify --load` has to say about each mode of `moody.py`. A test races two more."""

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
