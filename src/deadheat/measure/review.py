"""The strict review of a server: the checks of docs/rules.md that a program can make.

One of them is the freeze check: a server that was frozen for as long as in a race has to come back
unchanged.
"""

import datetime
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deadheat.build.prepare import Candidate
from deadheat.catalog import Server
from deadheat.catalog.lock_file import LockFault, check_locks
from deadheat.catalog.manifest import BY_STRINGS, ended_support
from deadheat.errors import DeadheatError
from deadheat.host import Exited, Listeners
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance, contender_from
from deadheat.measure.inspection import RETRY_S, is_complete, load_server, short_load
from deadheat.measure.lifecycle import StartFailed
from deadheat.measure.listening import backlog_reading
from deadheat.measure.verify import fault_of, first_answer, verify
from deadheat.measure.world import World
from deadheat.store.json_columns import Behavior

CONNECTIONS = 100
DATE_SETTING = "date"  # of a server that sends no Date by default
FREEZE_S = 90.0  # longer than the watchdogs of gunicorn (30 s) and of puma and unicorn (60 s)
SETTLE_S = 5.0  # for processes that a server starts after its first answer
FREEZE_CONNECTIONS = 10  # of the load after the thaw
FREEZE_LOAD_S = 1.0
OWN_PROFILE = re.compile(r"^\s*\[profile\b|target-cpu", re.MULTILINE)
NODELAY = re.compile(r"set_(?:tcp_)?nodelay|set(?:Tcp)?NoDelay|TCP_NODELAY|:NODELAY")
RUNTIME_FLAG = re.compile(
    r"yjit|--jit\b|-XX:|-Xm[nsx]|-Xjit|opcache\.jit|--max-old-space|GOGC=|GOMEMLIMIT=|RUBY_GC_",
    re.IGNORECASE,
)
NATIVE_EPOLL = re.compile(r"native-epoll-\S+-linux-x86_64")
SOURCE_BYTES_MAX = 1 << 20
WATCH_S = 15.0  # after the thaw; puma looks at its workers every 5 s


@dataclass(frozen=True, slots=True)
class Check:
    """One rule and what was found. `passed` is None if this machine cannot decide it."""

    rule: str
    passed: bool | None
    reading: str


def review(world: World, candidate: Candidate, isolated: bool) -> Iterator[Check]:
    """Every check in turn; those that need a running server end if it does not start.

    `isolated`: the server host has only loopback. The candidate has to be built.
    """
    yield from folder_checks(candidate.selection.server, candidate.version)
    try:
        yield Check("lock file", True, check_locks(candidate.selection.server))
    except LockFault as error:
        yield Check("lock file", False, str(error))
    try:
        instance = _start(world, candidate)
    except StartFailed as error:
        yield Check("start", False, error.reason)
        return
    contender = instance.contender
    try:
        yield Check("start", True, f"the right answer after {instance.ready_s:.2f} s")
        yield Check(
            "no network at run time",
            True if isolated else None,
            "it ran with loopback only" if isolated else "not tried: it needs --isolate",
        )
        host, media_type = world.server_host, contender.media_type
        behavior = verify(host, instance.address, media_type, deadline_s=contender.ready_s)
        yield from _answers(behavior, candidate)
        yield _load(world, instance)
        listeners = host.listeners(instance.process, instance.port)
        yield _listeners(listeners, instance)
        yield _backlog(listeners, instance, candidate)
    finally:
        ended = lifecycle.stop(world, instance)
    yield _stop(ended, contender.stop_signal)
    yield _restart(world, candidate)
    (fault,) = freeze_faults(world, [candidate])
    unchanged = f"{FREEZE_S:g} s frozen: same processes, right answer"
    yield Check("freeze", fault is None, fault or unchanged)


def folder_checks(server: Server, version: str | None) -> Iterator[Check]:
    """What the files of a folder show: the decisions of docs/rules.md, each where it applies."""
    manifest, sources = server.manifest, _sources(server.folder)
    if "Cargo.toml" in sources:
        own = [name for name, text in sources.items() if OWN_PROFILE.search(text)]
        yield Check("release profile", not own, f"set by {own[0]}" if own else "cargo's own")
    code = {name: text for name, text in sources.items() if not name.endswith((".conf", ".toml"))}
    sets = [name for name, text in code.items() if NODELAY.search(text)]
    in_setting = any("nodelay" in each.why.lower() for each in manifest.settings.values())
    reading = f"{sets[0]} sets TCP_NODELAY" if sets else "as the framework has them"
    if in_setting:
        reading += ", in a setting of its own"
    yield Check("socket options", in_setting or not sets, reading)
    words = [*manifest.start.command, *(f"{k}={v}" for k, v in manifest.start.env.items())]
    flags = [word for word in words if RUNTIME_FLAG.search(word)]
    reading = f"{flags[0]} is tuning" if flags else "as the runtime starts"
    yield Check("JIT, GC and heap", not flags, reading)
    jars = server.folder / "jars.lock"
    if jars.is_file() and NATIVE_EPOLL.search(jars.read_text(encoding="utf-8")):
        noted = any("native epoll" in note for note in manifest.notes)
        reading = "Netty's own epoll, as a note says" if noted else "Netty's own epoll, in no note"
        yield Check("native transport", noted, reading)
    if "page" in manifest.workloads:
        engine = manifest.template_engine
        by_hand = [name for name, text in code.items() if "&lt;" in text]
        reading = f"template_engine is {engine}" if engine else "template_engine is not set"
        if by_hand and engine != BY_STRINGS:
            reading += f", but {by_hand[0]} escapes by itself"
        yield Check("template", engine == BY_STRINGS or bool(engine and not by_hand), reading)
    ended = ended_support(manifest.support, version, datetime.date.today())
    for line, until in ended.items():
        yield Check("support", None, f"{line} ended on {until}")


def _sources(folder: Path) -> dict[str, str]:
    """The texts of a folder without lock files, by their path in it."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "lock" not in path.name and path.stat().st_size <= SOURCE_BYTES_MAX:
            with suppress(UnicodeDecodeError):
                texts[str(path.relative_to(folder))] = path.read_text(encoding="utf-8")
    return texts


def _answers(behavior: Behavior, candidate: Candidate) -> Iterator[Check]:
    start = candidate.selection.start
    yield Check(
        "answer", behavior.fault is None, behavior.fault or "status, media type and body are right"
    )
    chosen = candidate.selection
    elsewhere = chosen.setting != DATE_SETTING and DATE_SETTING in chosen.server.manifest.settings
    if behavior.date:
        date = "with Date"
    else:
        date = f"Date in the setting `{DATE_SETTING}`" if elsewhere else "expected a Date, got none"
    yield Check(
        "headers",
        behavior.framing in ("content-length", "chunked") and (behavior.date or elsewhere),
        f"body by {behavior.framing}, {behavior.head_bytes} B, {date}, "
        f"Server: {behavior.server_header or 'none'}",
    )
    unknown = behavior.unknown_path
    yield Check(
        "unknown path",
        unknown is not None and unknown >= 400,
        f"status {unknown}" if unknown else "no answer",
    )
    yield Check(
        "HEAD",
        behavior.head in ("empty", "refuses"),
        {
            "empty": "no body",
            "refuses": "an error status, no body expected",
            "body": "expected no body, got one",
        }.get(behavior.head or "", "no answer"),
    )
    yield Check(
        "keep-alive",
        behavior.keep_alive == start.keep_alive,
        _against(behavior.keep_alive, start.keep_alive, "stays open", "closes"),
    )
    honors = start.connection_close == "closes"
    yield Check(
        "Connection: close",
        behavior.close_honored == honors,
        _against(behavior.close_honored, honors, "closes", "stays open"),
    )
    expected = 2 if start.keep_alive else 1
    yield Check(
        "pipelining",
        (behavior.pipelined or 0) >= expected,
        f"{behavior.pipelined or 0} of 2 requests answered, expected {expected}",
    )


def _against(seen: bool | None, declared: bool, yes: str, no: str) -> str:
    """What a connection did, and what the manifest says if that differs."""
    if seen is None:
        return "no answer"
    did = f"the connection {yes if seen else no}"
    return did if seen == declared else f"{did}; server.toml says that it {yes if declared else no}"


def _load(world: World, instance: Instance) -> Check:
    """A short load, and a longer one if it fails: a JVM that has just started is slow."""
    try:
        result, _ = short_load(world, instance, CONNECTIONS)
        if result is None or not is_complete(result, CONNECTIONS):
            result = load_server(world, instance, CONNECTIONS, RETRY_S)
    except DeadheatError as error:
        return Check("load", False, str(error))
    served = result.connections_served or 0
    reading = f"{served} of {CONNECTIONS} connections served, {result.errors_total} errors"
    return Check("load", served == CONNECTIONS and not result.errors_total, reading)


def _listeners(listeners: Listeners, instance: Instance) -> Check:
    """Asked after a load, because some servers open a second port late."""
    rule = "no other listener"
    here = instance.host
    same = (here, f"::ffff:{here}")  # a JVM's socket has IPv6's spelling of the address
    others = {
        str(each)
        for each in listeners.own
        if each.port != instance.port or each.address not in same
    }
    if others:
        return Check(rule, False, f"expected only {here}:PORT, got {', '.join(sorted(others))} too")
    if not listeners.own or not listeners.complete:
        return Check(rule, None, "this machine does not show every socket of the server")
    return Check(rule, True, f"listens on {here}:PORT only")


def _backlog(listeners: Listeners, instance: Instance, candidate: Candidate) -> Check:
    declared = candidate.selection.start.backlog
    reading = backlog_reading(listeners, instance.port, instance.host, declared)
    return Check("backlog", reading.agrees, str(reading))


def _stop(ended: Exited, signal: str) -> Check:
    reading = f"{ended.how}, {ended.elapsed_s:.1f} s after {signal}"
    if ended.killed:
        return Check("stop", False, f"{reading}: killed")
    if ended.survivors:
        return Check("stop", False, f"{reading}: it left {ended.survivors} processes running")
    return Check("stop", True, reading)


def _restart(world: World, candidate: Candidate) -> Check:
    """The files that a first instance left must not prevent a second one."""
    try:
        instance = _start(world, candidate)
    except StartFailed as error:
        return Check("restart", False, error.reason)
    lifecycle.stop(world, instance)
    return Check("restart", True, f"the right answer after {instance.ready_s:.2f} s")


def freeze_faults(world: World, candidates: Sequence[Candidate]) -> list[str | None]:
    """Freeze all candidates at the same time; per candidate the fault, or None.

    Each is started, frozen for at least `FREEZE_S`, thawed and loaded in turn, as in a race. Then
    it has to give the right answer, and to have the same processes `WATCH_S` later. Every candidate
    has to be built. A pass is no proof: after a thaw, a worker may report before its watchdog
    looks, as puma's did in 9 of 9 freezes with its own timeout of 60 s.
    """
    host = world.server_host
    instances: dict[int, Instance] = {}  # by place in `candidates`, as all here
    members: dict[int, frozenset[tuple[int, int]]] = {}  # PID and start of each process
    faults: dict[int, str] = {}
    try:
        for place, candidate in enumerate(candidates):
            try:
                instances[place] = _start(world, candidate)
            except StartFailed as error:
                faults[place] = error.reason
        host.sleep(SETTLE_S)
        for place, instance in instances.items():
            members[place] = host.members(instance.process)
            lifecycle.freeze(world, instance)
        host.sleep(FREEZE_S)
        answers = {place: _answer_fault(world, each) for place, each in instances.items()}
        host.sleep(WATCH_S)
        for place, instance in instances.items():
            fault = answers[place] or _change(members[place], host.members(instance.process))
            if fault is not None:
                faults[place] = f"after {FREEZE_S:g} s frozen: {fault}"
        return [faults.get(place) for place in range(len(candidates))]
    finally:
        for instance in instances.values():
            lifecycle.stop(world, instance)


def _start(world: World, candidate: Candidate) -> Instance:
    """Raises `StartFailed`."""
    assert candidate.built is not None
    return lifecycle.start(world, contender_from(candidate.selection, candidate.built))


def _answer_fault(world: World, instance: Instance) -> str | None:
    """Thaw, load, and check the next answer."""
    lifecycle.thaw(world, instance)
    failed = ""
    with suppress(DeadheatError):  # that a dead server cannot be loaded shows in its answer
        failed = load_server(world, instance, FREEZE_CONNECTIONS, FREEZE_LOAD_S).errors_text
    answer = first_answer(world.server_host, instance.address, instance.path)
    fault = fault_of(answer, instance.contender.media_type)
    return f"requests failed under load: {failed}" if fault is None and failed else fault


def _change(before: frozenset[tuple[int, int]], now: frozenset[tuple[int, int]]) -> str | None:
    gone, new = len(before - now), len(now - before)
    if not gone and not new:
        return None
    return f"{gone} of its {len(before)} processes ended, {new} began"
